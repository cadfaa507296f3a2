// The instruction kinds of IFEval (arXiv:2311.07911) except the one about language, plus
// startend:start_checker. Names and arguments are the same as in IFEval's input file.
#include "task/instruction_kinds.hpp"

#include "base/text/joined.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;

constexpr std::array kRelations = {"at least", "less than"};
constexpr std::array kAbsent = {"castle", "engine", "violin", "pepper",
                                "ladder", "copper", "planet", "wizard"};
constexpr std::array kPhrases = {"That is all", "Good night", "So it goes", "Until tomorrow"};

std::string one_word(const std::string& text, Draws& draws) {
  return text::lower(draws.one_of(text::words(text)));
}

/// Draws a relation and a number that `count`, measured in the text, satisfies, but never "at least
/// 0", which every text satisfies.
std::pair<std::string, std::size_t> demand(std::size_t count, Draws& draws) {
  const std::string relation = count < 2 ? "less than" : draws.one_of(kRelations);
  return {relation, relation == "less than" ? count + 1 + std::size_t(draws.below(3))
                                            : count - std::size_t(draws.below(2))};
}

Json related(const char* relation, const char* number, std::size_t count, Draws& draws) {
  const auto [name, n] = demand(count, draws);
  return Json::object({{relation, name}, {number, n}});
}

Json nothing(const Draft&, const std::string&, Draws&) { return Json::object(); }
std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}
std::string listed(const Json& texts) {
  return fmt::format("{}", joined(texts.get<std::vector<std::string>>(), ", "));
}

std::size_t count_lines(const Draft& draft, std::string_view mark) {
  std::size_t count = 0;
  for (const auto& line : draft.lines) count += line.starts_with(mark) ? 1 : 0;
  return count;
}

void add_lines(Draft& draft, const std::string& line, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) draft.lines.push_back(line);
}

using D = Draft&;
using R = Draws&;
using A = const Json&;
using S = const std::string&;
using C = const Draft&;

const std::vector<InstructionKind>& rows() {
  static const std::vector<InstructionKind> kinds = {
      {"keywords:existence", kNothing, kNothing, nullptr,
       [](C, S t, R r) -> Json {
         return {{"keywords", std::vector{one_word(t, r), one_word(t, r)}}};
       },
       [](A a) { return fmt::format("Use the words {}.", listed(a.at("keywords"))); }},
      {"keywords:frequency", kNothing, kNothing, nullptr,
       [](C, S t, R r) {
         const auto word = one_word(t, r);
         Json a = related("relation", "frequency", text::count_occurrences(t, word), r);
         a["keyword"] = word;
         return a;
       },
       [](A a) {
         return fmt::format("Use the word {} {} {} times.", shown(a.at("keyword")),
                            shown(a.at("relation")), shown(a.at("frequency")));
       }},
      {"keywords:forbidden_words", kNothing, kNothing, nullptr,
       [](C, S, R r) -> Json {
         return {
             {"forbidden_words", std::vector<std::string>{r.one_of(kAbsent), r.one_of(kAbsent)}}};
       },
       [](A a) {
         return fmt::format("Do not use the words {}.", listed(a.at("forbidden_words")));
       }},
      {"keywords:letter_frequency", kNothing, kNothing, nullptr,
       [](C, S t, R r) {
         const std::string letter(1, char('a' + r.below(26)));
         Json a = related("let_relation", "let_frequency", text::count_letter(t, letter[0]), r);
         a["letter"] = letter;
         return a;
       },
       [](A a) {
         return fmt::format("Use the letter {} {} {} times.", shown(a.at("letter")),
                            shown(a.at("let_relation")), shown(a.at("let_frequency")));
       }},
      {"length_constraints:number_words", kNothing, kNothing, nullptr,
       [](C, S t, R r) { return related("relation", "num_words", text::words(t).size(), r); },
       [](A a) {
         return fmt::format("Use {} {} words.", shown(a.at("relation")), shown(a.at("num_words")));
       }},
      {"length_constraints:number_sentences", kNothing, kNothing, nullptr,
       [](C, S t, R r) {
         return related("relation", "num_sentences", text::count_sentences(t), r);
       },
       [](A a) {
         return fmt::format("Write {} {} sentences.", shown(a.at("relation")),
                            shown(a.at("num_sentences")));
       }},
      {"length_constraints:number_paragraphs", kParagraphs, kLayout,
       [](D d, R) { d.between = "\n***\n"; },
       [](C d, S, R) -> Json {
         return {{"num_paragraphs", d.paragraphs.size()}};
       },
       [](A a) {
         return fmt::format("Write exactly {} paragraphs, separated by a line ***.",
                            shown(a.at("num_paragraphs")));
       }},
      {"length_constraints:nth_paragraph_first_word", kParagraphs | kStart, kLayout, nullptr,
       [](C d, S t, R r) -> Json {
         const auto pieces = text::split(t, "\n\n");
         const auto nth = std::size_t(r.below(std::int64_t(d.paragraphs.size())));
         return {{"num_paragraphs", pieces.size()},
                 {"nth_paragraph", nth + 1},
                 {"first_word", text::lower(text::words(pieces[nth]).front())}};
       },
       [](A a) {
         return fmt::format(
             "Write exactly {} paragraphs, separated by empty lines. Paragraph {} begins with the word {}.",
             shown(a.at("num_paragraphs")), shown(a.at("nth_paragraph")),
             shown(a.at("first_word")));
       }},
      {"detectable_content:number_placeholders", kNothing, kLayout,
       [](D d, R r) { add_lines(d, "[name]", r.between(1, 3)); },
       [](C d, S, R) -> Json {
         return {{"num_placeholders", count_lines(d, "[")}};
       },
       [](A a) {
         return fmt::format("Leave at least {} placeholders in square brackets, such as [address].",
                            shown(a.at("num_placeholders")));
       }},
      {"detectable_content:postscript", kNothing, kLayout,
       [](D d, R r) {
         d.lines.push_back(fmt::format("{} Good night.", r.chance(2) ? "P.S." : "P.P.S."));
       },
       [](C d, S, R) -> Json {
         return {{"postscript_marker", count_lines(d, "P.P.S.") > 0 ? "P.P.S." : "P.S."}};
       },
       [](A a) {
         return fmt::format("Add a postscript that begins with {}",
                            shown(a.at("postscript_marker")));
       }},
      {"detectable_format:number_bullet_lists", kNothing, kLayout,
       [](D d, R r) { add_lines(d, "- a point", r.between(1, 4)); },
       [](C d, S, R) -> Json {
         return {{"num_bullets", count_lines(d, "- ")}};
       },
       [](A a) {
         return fmt::format("Write exactly {} bullet points, lines that begin with a hyphen.",
                            shown(a.at("num_bullets")));
       }},
      {"detectable_format:constrained_response", kCase, kLayout,
       [](D d, R r) {
         d.lines.push_back(
             fmt::format("My answer is {}.", r.one_of(std::array{"yes", "no", "maybe"})));
       },
       nothing,
       [](A) {
         return std::string("Say one of: My answer is yes. My answer is no. My answer is maybe.");
       }},
      {"detectable_format:number_highlighted_sections", kNothing, kLayout,
       [](D d, R r) { add_lines(d, "Mark *this part* well.", r.between(1, 3)); },
       [](C d, S, R) -> Json {
         return {{"num_highlights", count_lines(d, "Mark")}};
       },
       [](A a) {
         return fmt::format("Highlight at least {} parts of the text with *asterisks*.",
                            shown(a.at("num_highlights")));
       }},
      {"detectable_format:multiple_sections", kCase, kLayout,
       [](D d, R r) {
         for (std::int64_t i = 1, n = r.between(1, 4); i <= n; ++i)
           d.lines.push_back(fmt::format("Section {}", i));
       },
       [](C d, S, R) -> Json {
         return {{"section_spliter", "Section"}, {"num_sections", count_lines(d, "Section")}};
       },
       [](A a) {
         return fmt::format("Write at least {} sections, each marked as in {} 1.",
                            shown(a.at("num_sections")), shown(a.at("section_spliter")));
       }},
      {"detectable_format:json_format", kCase | kStart | kEnd | kLayout | kParagraphs, kNothing,
       [](D d, R) { d.as_json = true; }, nothing,
       [](A) { return std::string("Put the whole answer in JSON."); }},
      {"detectable_format:title", kNothing, kLayout,
       [](D d, R) { d.lines.push_back("<<A title>>"); }, nothing,
       [](A) { return std::string("Give it a title in double angle brackets, as in <<title>>."); }},
      {"combination:two_responses", kParagraphs, kLayout,
       [](D d, R) {
         d.between = "\n******\n";
         d.paragraphs.resize(1);
         d.paragraphs.push_back("Here is another answer.");
       },
       nothing,
       [](A) {
         return std::string("Give two different responses, separated by six asterisks: ******.");
       }},
      {"combination:repeat_prompt", kStart, kLayout, [](D d, R) { d.first = d.topic + "\n\n"; },
       [](C d, S, R) -> Json {
         return {{"prompt_to_repeat", d.topic}};
       },
       [](A a) {
         return fmt::format("First repeat this request word for word: {}",
                            shown(a.at("prompt_to_repeat")));
       }},
      {"startend:start_checker", kStart, kLayout,
       [](D d, R r) { d.first = fmt::format("{}. ", r.one_of(kPhrases)); },
       [](C d, S, R) -> Json {
         return {{"start_phrase", d.first.substr(0, d.first.find('.'))}};
       },
       [](A a) { return fmt::format("Begin with the phrase {}.", shown(a.at("start_phrase"))); }},
      {"startend:end_checker", kEnd, kLayout,
       [](D d, R r) { d.last = fmt::format("\n{}.", r.one_of(kPhrases)); },
       [](C d, S, R) -> Json {
         return {{"end_phrase", d.last.substr(1)}};
       },
       [](A a) {
         return fmt::format("End with the exact phrase {} and nothing behind it.",
                            shown(a.at("end_phrase")));
       }},
      {"startend:quotation", kStart | kEnd, kLayout, [](D d, R) { d.quoted = true; }, nothing,
       [](A) { return std::string("Put the whole answer in double quotation marks."); }},
      {"change_case:capital_word_frequency", kCase, kNothing,
       [](D d, R r) { add_lines(d, "NOTE WELL", r.between(1, 3)); },
       [](C, S t, R r) {
         return related("capital_relation", "capital_frequency", text::count_capital_words(t), r);
       },
       [](A a) {
         return fmt::format("Have {} {} words in capital letters.", shown(a.at("capital_relation")),
                            shown(a.at("capital_frequency")));
       }},
      {"change_case:english_capital", kCase, kNothing,
       [](D d, R) { d.letters = Draft::Case::upper; }, nothing,
       [](A) { return std::string("Use capital letters only."); }},
      {"change_case:english_lowercase", kCase, kNothing,
       [](D d, R) { d.letters = Draft::Case::lower; }, nothing,
       [](A) { return std::string("Use lower-case letters only."); }},
      {"punctuation:no_comma", kNothing, kNothing, nullptr, nothing,
       [](A) { return std::string("Use no commas."); }},
  };
  return kinds;
}

}  // namespace

std::string text_of(const Draft& draft) {
  std::string text = draft.first + fmt::format("{}", joined(draft.paragraphs, draft.between));
  for (const auto& line : draft.lines) text += "\n" + line;
  text += draft.last;
  if (draft.letters == Draft::Case::upper) text = text::upper(text);
  if (draft.letters == Draft::Case::lower) text = text::lower(text);
  if (draft.as_json) return Json(text).dump();
  return draft.quoted ? "\"" + text + "\"" : text;
}

const std::vector<InstructionKind>& instruction_kinds() { return rows(); }

}  // namespace rollcall::task
