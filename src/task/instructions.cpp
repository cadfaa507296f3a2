// Texts that have to follow several instructions at once. A text is written first and the
// instructions are measured in it, so that a text exists that follows all of them.
#include "base/text/joined.hpp"
#include "task/instruction_kinds.hpp"
#include "task/sources.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

constexpr std::array kTopics = {"sea",    "forest", "market", "winter",
                                "garden", "river",  "city",   "moon"};
constexpr std::array kSubjects = {"the boat", "a bird",  "the old man", "my friend",
                                  "the wind", "a child", "the farmer",  "our dog"};
constexpr std::array kVerbs = {"sees",    "finds",  "likes",  "carries",
                               "follows", "paints", "leaves", "remembers"};
constexpr std::array kObjects = {"the hill",     "a red stone",   "the quiet road", "two apples",
                                 "the long day", "a small house", "the light",      "an open door"};

std::string draw_sentence(Draws& draws) {
  std::string sentence = fmt::format("{} {} {}.", draws.one_of(kSubjects), draws.one_of(kVerbs),
                                     draws.one_of(kObjects));
  sentence[0] = text::upper(sentence.substr(0, 1))[0];
  return sentence;
}

Draft draw_draft(std::int64_t level, Draws& draws) {
  Draft draft;
  draft.topic = fmt::format("Write about the {}.", draws.one_of(kTopics));
  for (std::int64_t p = draws.between(1, 3); p > 0; --p) {
    std::vector<std::string> sentences;
    for (std::int64_t i = draws.between(1, 1 + level / 2); i > 0; --i)
      sentences.push_back(draw_sentence(draws));
    draft.paragraphs.push_back(fmt::format("{}", joined(sentences, " ")));
  }
  return draft;
}

bool go_together(const InstructionKind& a, const InstructionKind& b) {
  return (a.claims & (b.claims | b.needs)) == 0 && (b.claims & a.needs) == 0;
}

/// Draws `count` mutually compatible kinds; fewer if no more are left.
std::vector<const InstructionKind*> draw_kinds(std::int64_t count, Draws& draws) {
  std::vector<const InstructionKind*> all, chosen;
  for (const auto& kind : instruction_kinds()) all.push_back(&kind);
  draws.shuffle(all);
  for (const auto* kind : all) {
    const bool fits = std::all_of(chosen.begin(), chosen.end(),
                                  [&](const auto* other) { return go_together(*kind, *other); });
    if (fits && std::int64_t(chosen.size()) < count) chosen.push_back(kind);
  }
  return chosen;
}

/// "number_words 5 at least": the kind and the values of its arguments, in alphabetical order of
/// the keys.
std::string brief(const InstructionKind& kind, const nlohmann::json& arguments) {
  const std::string_view name = kind.name;
  std::string text(name.substr(name.find(':') + 1));
  for (const auto& [key, value] : arguments.items()) {
    std::vector<std::string> parts;
    if (value.is_array()) parts = value.get<std::vector<std::string>>();
    text += fmt::format(" {}", value.is_array()    ? fmt::format("{}", joined(parts, ","))
                               : value.is_string() ? value.get<std::string>()
                                                   : value.dump());
  }
  return text;
}

std::optional<Item> draw_instructions(const TaskSection& section, std::int64_t level,
                                      Draws& draws) {
  Draft draft = draw_draft(level, draws);
  const auto kinds = draw_kinds(level, draws);
  if (std::int64_t(kinds.size()) < level) return std::nullopt;
  for (const auto* kind : kinds)
    if (kind->write != nullptr) kind->write(draft, draws);
  const std::string text = text_of(draft);
  nlohmann::json names = nlohmann::json::array(), all = nlohmann::json::array();
  std::vector<std::string> plain, words{draft.topic};
  for (const auto* kind : kinds) {
    const auto arguments = kind->arguments(draft, text, draws);
    names.push_back(kind->name);
    plain.push_back(brief(*kind, arguments));
    words.push_back(kind->words(arguments));
    all.push_back(arguments);
  }
  Item item{fmt::format("{}:", joined(plain, ";")),
            nlohmann::json{{"instruction_id_list", names}, {"kwargs", all}}.dump(), text};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format("{}", joined(words, " "));
  return item;
}

}  // namespace

PromptSet make_instructions(const TaskSection& section, std::uint64_t seed) {
  check_wordings("instructions", section.wording, {"plain", "question"});
  return generate(
      {"instructions", 1, 8,
       [&](std::int64_t level, Draws& draws) { return draw_instructions(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
