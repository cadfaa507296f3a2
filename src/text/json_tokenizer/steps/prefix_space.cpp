// Looks for steps of tokenizer.json that put a space before a text.
#include "text/json_tokenizer/steps/prefix_space.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {
namespace {

using Json = nlohmann::json;

/// Finds steps with this type in a normalizer or pre-tokenizer, including those in sequences.
void find_steps(Json& step, const char* type, std::vector<Json*>& found) {
  if (!step.is_object()) return;
  if (step.value("type", Json()) == type) found.push_back(&step);
  for (const char* list : {"pretokenizers", "normalizers"}) {
    const auto inner = step.find(list);
    if (inner == step.end() || !inner->is_array()) continue;
    for (auto& item : *inner) find_steps(item, type, found);
  }
}

std::vector<Json*> steps(Json& root, const char* part, const char* type) {
  std::vector<Json*> found;
  if (const auto step = root.find(part); step != root.end()) find_steps(*step, type, found);
  return found;
}

bool prepends_space(const Json& step) {
  const Json what = step.value("prepend", Json());
  return what == " " || what == "\u2581";  // SentencePiece's mark of a space
}

bool puts_mark_first(const Json& metaspace) {
  return metaspace.value("add_prefix_space", Json(true)) != false &&
         metaspace.value("prepend_scheme", Json("always")) != "never";
}

}  // namespace

bool apply_prefix_space(Document& document, const StatedTokens& stated) {
  const std::optional<bool> wanted =
      stated.prefix_space ? stated.prefix_space : stated.class_prefix_space;
  if (!wanted) return false;
  const auto bytes = steps(document.rest, "pre_tokenizer", "ByteLevel"),
             marks = steps(document.rest, "pre_tokenizer", "Metaspace");
  bool puts = false;
  for (const Json* step : steps(document.rest, "normalizer", "Prepend"))
    puts = puts || prepends_space(*step);
  for (const Json* mark : marks) puts = puts || puts_mark_first(*mark);
  const bool is_only_bytes = marks.empty() && !puts && !bytes.empty();
  for (const Json* byte : bytes) puts = puts || byte->value("add_prefix_space", Json()) == true;
  if (puts == *wanted || (!stated.prefix_space && !is_only_bytes)) return false;
  if (!stated.class_prefix_space || !is_only_bytes)
    refuse(document.origin,
           fmt::format("it puts {} before a text, and add_prefix_space beside it is {}",
                       puts ? "a space" : "no space", *wanted));
  for (Json* byte : bytes) (*byte)["add_prefix_space"] = *wanted;
  return true;
}

}  // namespace rollcall::text::json_tokenizer
