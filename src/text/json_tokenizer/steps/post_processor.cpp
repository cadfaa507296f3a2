// Reads each type of post-processor. Offsets and types of sequences are not used.
#include "text/json_tokenizer/steps/post_processor.hpp"

#include "text/json_tokenizer/document.hpp"

#include <fmt/format.h>

namespace rollcall::text::json_tokenizer {
namespace {

std::int32_t id_of(const Field& field) {
  field.require(field.count() <= kLargestId, fmt::format("is above the largest id {}", kLargestId));
  return std::int32_t(field.count());
}

Surroundings read_template(const Field& field) {
  Surroundings around;
  bool has_sequence = false;
  for (const Field& piece : field.at("single").items()) {
    if (const auto sequence = piece.find("Sequence")) {
      sequence->require(!has_sequence && sequence->at("id").text() == "A",
                        "is not the one sequence, A, of a template for single texts");
      has_sequence = true;
      continue;
    }
    const std::string name = piece.at("SpecialToken").at("id").text();
    for (const Field& id : field.at("special_tokens").at(name.c_str()).at("ids").items())
      (has_sequence ? around.after : around.before).push_back(id_of(id));
  }
  field.require(has_sequence, "has a template without the sequence");
  return around;
}

/// Reads {"sep": ["</s>", 2], "cls": ["<s>", 0]}.
Surroundings read_pair(const Field& field) {
  const auto id = [&](const char* key) {
    const auto items = field.at(key).items();
    field.at(key).require(items.size() == 2, "is not a token and its id");
    return id_of(items[1]);
  };
  return {{id("cls")}, {id("sep")}};
}

Surroundings read_sequence(const Field& field) {
  Surroundings around;
  for (const Field& item : field.at("processors").items()) {
    auto one = read_post_processor(item);
    if (one.before.empty() && one.after.empty()) continue;
    item.require(around.before.empty() && around.after.empty(),
                 "adds tokens as one before it does");
    around = std::move(one);
  }
  return around;
}

struct Row {
  const char* type;
  Surroundings (*read)(const Field&);
};
constexpr Row kRows[] = {
    {"TemplateProcessing", read_template},
    {"ByteLevel", [](const Field&) { return Surroundings(); }},
    {"BertProcessing", read_pair},
    {"RobertaProcessing", read_pair},
    {"Sequence", read_sequence},
};

}  // namespace

Surroundings read_post_processor(const Field& field) {
  return row_of_type(field, kRows).read(field);
}

}  // namespace rollcall::text::json_tokenizer
