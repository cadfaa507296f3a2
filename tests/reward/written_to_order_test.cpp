// The task instructions and its verifier: every kind is given, every text follows, and a text that
// is spoilt on purpose loses exactly what was spoilt.
#include "base/text/json.hpp"
#include "reward/instruction_checks.hpp"
#include "task/instruction_kinds.hpp"
#include "task/task.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rollcall::reward {
namespace {

using Json = nlohmann::json;

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

std::string times(const Json& count, const std::string& part) {
  std::string text;
  for (std::int64_t i = count.get<std::int64_t>(); i >= 0; --i) text += part;
  return text;
}

/// A text that no longer follows an instruction with a relation: nothing but a sign, or more than
/// enough.
std::string spoilt_count(const std::string& text, const Json& a, const char* relation,
                         const char* number, const std::string& one) {
  return a.at(relation) == "at least" ? "-" : text + times(a.at(number), one);
}

std::string spoilt(const std::string& kind, const Json& a, const std::string& text) {
  const std::string name = kind.substr(kind.find(':') + 1);
  if (name == "existence") return "-";
  if (name == "frequency")
    return spoilt_count(text, a, "relation", "frequency",
                        fmt::format(" {}", a.at("keyword").get<std::string>()));
  if (name == "forbidden_words")
    return text + " " + a.at("forbidden_words").at(0).get<std::string>();
  if (name == "letter_frequency")
    return spoilt_count(text, a, "let_relation", "let_frequency",
                        a.at("letter").get<std::string>());
  if (name == "number_words") return spoilt_count(text, a, "relation", "num_words", " so");
  if (name == "number_sentences") return spoilt_count(text, a, "relation", "num_sentences", " So.");
  if (name == "capital_word_frequency")
    return spoilt_count(text, a, "capital_relation", "capital_frequency", " SO");
  static const std::map<std::string, std::string> appended = {
      {"number_paragraphs", "\n***\nso"},
      {"nth_paragraph_first_word", "\n\nso"},
      {"number_bullet_lists", "\n- so"},
      {"json_format", " so"},
      {"two_responses", "\n******\nso"},
      {"end_checker", " so"},
      {"quotation", " so"},
      {"english_capital", " so"},
      {"english_lowercase", " SO"},
      {"no_comma", ","}};
  if (const auto found = appended.find(name); found != appended.end()) return text + found->second;
  static const std::map<std::string, std::string> removed = {
      {"number_placeholders", "["},     {"postscript", "."},
      {"constrained_response", "My"},   {"number_highlighted_sections", "*"},
      {"multiple_sections", "Section"}, {"title", "<<"}};
  if (const auto found = removed.find(name); found != removed.end())
    return without(text, found->second);
  return fmt::format("so {}", text);  // repeat_prompt, start_checker
}

TEST(WrittenToOrder, TaskAndVerifierKnowTheSameKinds) {
  std::set<std::string> asked;
  for (const auto& kind : task::instruction_kinds()) asked.insert(kind.name);
  const auto judged = instruction_kinds();
  EXPECT_EQ(asked, std::set<std::string>(judged.begin(), judged.end()));
}

TEST(WrittenToOrder, EveryKindIsGivenFollowedAndCanBeBroken) {
  TaskSection section;
  section.train_prompts = 1500, section.min_level = 1, section.max_level = 8,
  section.tail_exponent = 0;
  std::map<std::string, int> given;
  for (const Prompt& p : task::find_task("instructions").make(section, 21).train) {
    const auto reference = Json::parse(p.answer);
    const auto& kinds = reference.at("instruction_id_list");
    EXPECT_EQ(std::int32_t(kinds.size()), p.level);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto kind = kinds[i].get<std::string>();
      const Json& arguments = reference.at("kwargs")[i];
      ++given[kind];
      EXPECT_TRUE(follows(kind, arguments, p.solution)) << kind << arguments << "\n" << p.solution;
      EXPECT_FALSE(follows(kind, arguments, spoilt(kind, arguments, p.solution)))
          << kind << arguments << "\n"
          << spoilt(kind, arguments, p.solution);
    }
  }
  EXPECT_EQ(given.size(), instruction_kinds().size());
  for (const auto& [kind, count] : given) EXPECT_GT(count, 40) << kind;
}

}  // namespace
}  // namespace rollcall::reward
