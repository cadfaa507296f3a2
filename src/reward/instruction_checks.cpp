// One row per kind. Each accepts what IFEval's released checker accepts, except in how words and
// sentences are split (text/conclusion/prose.hpp) and in languages: only ASCII capitals count.
#include "reward/instruction_checks.hpp"

#include "base/errors/nearest.hpp"
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::reward {
namespace {

using Text = std::string_view;
constexpr std::int64_t kMost = 1'000'000;
constexpr auto kNone = Text::npos;

std::string text_of(const Json& arguments, const char* key) {
  const auto text = arguments.at(key).get<std::string>();
  check_reference(!text.empty(), "an argument is empty");
  return text;
}

std::size_t number_of(const Json& arguments, const char* key) {
  return std::size_t(whole_number(arguments.at(key), 0, kMost));
}

/// Whether `count` has the demanded relation to the demanded number: IFEval's "at least" or "less
/// than", or "exactly".
bool relates(std::size_t count, const Json& arguments, const char* relation, const char* number) {
  const auto name = text_of(arguments, relation);
  const std::size_t n = number_of(arguments, number);
  check_reference(name == "at least" || name == "less than" || name == "exactly",
                  "a relation is none of at least, less than, exactly");
  return name == "at least" ? count >= n : name == "less than" ? count < n : count == n;
}

std::vector<std::string> texts_of(const Json& arguments, const char* key) {
  const auto texts = arguments.at(key).get<std::vector<std::string>>();
  check_reference(!texts.empty() && std::none_of(texts.begin(), texts.end(),
                                                 [](const std::string& t) { return t.empty(); }),
                  "a list or one of its texts is empty");
  return texts;
}

/// Whether the text has a word, as IFEval's \bword\b finds it: no letter, digit or underscore
/// precedes or follows it. Bytes beyond ASCII count as letters.
bool has_word(Text text, Text word) {
  const std::string all = text::lower(text), wanted = text::lower(word);
  const auto is_letter = [](char c) {
    return (c & 0x80) != 0 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  };
  for (std::size_t at = all.find(wanted); at != std::string::npos; at = all.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const bool begins = at == 0 || is_letter(all[at - 1]) != is_letter(wanted.front()),
               ends = end == all.size() || is_letter(all[end]) != is_letter(wanted.back());
    if (begins && ends) return true;
  }
  return false;
}

bool existence(const Json& a, Text t) {
  const auto wanted = texts_of(a, "keywords");
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& k) { return text::count_occurrences(t, k) > 0; });
}
bool frequency(const Json& a, Text t) {
  return relates(text::count_occurrences(t, text_of(a, "keyword")), a, "relation", "frequency");
}
bool forbidden(const Json& a, Text t) {
  const auto words = texts_of(a, "forbidden_words");
  return std::none_of(words.begin(), words.end(),
                      [&](const std::string& w) { return has_word(t, w); });
}
bool letter_frequency(const Json& a, Text t) {
  return relates(text::count_letter(t, text_of(a, "letter").front()), a, "let_relation",
                 "let_frequency");
}

bool number_words(const Json& a, Text t) {
  return relates(text::words(t).size(), a, "relation", "num_words");
}
bool number_sentences(const Json& a, Text t) {
  return relates(text::count_sentences(t), a, "relation", "num_sentences");
}

/// Whether the text has exactly the wanted number of paragraphs, separated by ***. Only the first
/// and the last may be empty, and are then not counted.
bool number_paragraphs(const Json& a, Text t) {
  const std::size_t wanted = number_of(a, "num_paragraphs");
  const auto pieces = text::split(t, "***");
  std::size_t count = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool empty = text::trim(pieces[i]).empty();
    if (empty && i > 0 && i + 1 < pieces.size()) return false;
    count += empty ? 0 : 1;
  }
  return count == wanted;
}

/// Whether the text has exactly the wanted number of paragraphs, separated by empty lines, and the
/// n-th begins with the wanted word.
bool nth_paragraph_first_word(const Json& a, Text t) {
  const std::size_t wanted = number_of(a, "num_paragraphs"), nth = number_of(a, "nth_paragraph");
  const auto word = text::lower(text_of(a, "first_word"));
  std::vector<Text> paragraphs;
  for (const Text piece : text::split(t, "\n\n"))
    if (!text::trim(piece).empty()) paragraphs.push_back(piece);
  if (paragraphs.size() != wanted || nth < 1 || nth > wanted) return false;
  const auto words = text::words(paragraphs[nth - 1]);
  return !words.empty() && text::lower(words.front()) == word;
}

/// Whether at least the wanted number of brackets close on the line on which they open: [address].
bool number_placeholders(const Json& a, Text t) {
  const std::size_t wanted = number_of(a, "num_placeholders");
  std::size_t count = 0;
  for (std::size_t open = t.find('['); open != kNone;) {
    const std::size_t close = t.find_first_of("]\n", open);
    if (close == kNone) break;
    count += t[close] == ']' ? 1 : 0;
    open = t.find('[', close);
  }
  return count >= wanted;
}

bool postscript(const Json& a, Text t) {
  const auto closed = [](Text text) {  // "P. S." is "P.S."
    std::string result = text::lower(text);
    std::erase(result, ' ');
    return result;
  };
  return closed(t).find(closed(text_of(a, "postscript_marker"))) != std::string::npos;
}

/// Whether exactly the wanted number of lines begin with - or a single *.
bool number_bullets(const Json& a, Text t) {
  const std::size_t wanted = number_of(a, "num_bullets");
  std::size_t count = 0;
  for (const Text line : text::split(t, "\n")) {
    const Text s = text::trim(line);
    count += s.starts_with('-') || (s.size() > 1 && s[0] == '*' && s[1] != '*') ? 1 : 0;
  }
  return count == wanted;
}

bool constrained_response(const Json&, Text t) {
  constexpr std::array<Text, 3> kAnswers = {"My answer is yes.", "My answer is no.",
                                            "My answer is maybe."};
  return std::any_of(kAnswers.begin(), kAnswers.end(),
                     [&](Text answer) { return t.find(answer) != kNone; });
}

/// Whether at least the wanted number of *highlights* or **highlights** close on the line on which
/// they open.
bool number_highlights(const Json& a, Text t) {
  const std::size_t wanted = number_of(a, "num_highlights");
  std::size_t count = 0;
  for (std::size_t open = t.find('*'); open != kNone; open = t.find('*', open)) {
    const std::size_t begin = t.find_first_not_of('*', open);
    if (begin == kNone) break;
    const std::size_t close = t.find_first_of("*\n", begin);
    if (close == kNone) break;
    const bool marked = t[close] == '*' && !text::trim(t.substr(begin, close - begin)).empty();
    count += marked ? 1 : 0;
    open = marked ? t.find_first_not_of('*', close) : close;
  }
  return count >= wanted;
}

/// Whether at least the wanted number of sections begin like "Section 1", with the splitter and a
/// number.
bool multiple_sections(const Json& a, Text t) {
  const auto splitter = text_of(a, "section_spliter");  // sic: IFEval's key
  const std::size_t wanted = number_of(a, "num_sections");
  std::size_t count = 0;
  for (std::size_t at = t.find(splitter); at != kNone;
       at = t.find(splitter, at + splitter.size())) {
    Text rest = t.substr(at + splitter.size());
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    count += !rest.empty() && rest.front() >= '0' && rest.front() <= '9' ? 1 : 0;
  }
  return count >= wanted;
}

bool json_format(const Json&, Text t) {
  for (const Text fence : {"```json", "```Json", "```JSON", "```"})
    if (t.starts_with(fence)) {
      t.remove_prefix(fence.size());
      break;
    }
  if (t.ends_with("```")) t.remove_suffix(3);
  std::string fault;
  parse_foreign_value<Json>(text::trim(t), fault);
  return fault.empty();
}

/// Whether there is a <<title>> that ends on its line.
bool title(const Json&, Text t) {
  for (const Text line : text::split(t, "\n")) {
    const std::size_t open = line.find("<<"), close = line.rfind(">>");
    if (open == kNone || close == kNone || close < open + 2) continue;
    if (line.substr(open, close - open).find_first_not_of("<> \t") != kNone) return true;
  }
  return false;
}

bool two_responses(const Json&, Text t) {
  std::vector<Text> responses;
  const auto pieces = text::split(t, "******");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Text one = text::trim(pieces[i]);
    if (one.empty() && i > 0 && i + 1 < pieces.size()) return false;
    if (!one.empty()) responses.push_back(one);
  }
  return responses.size() == 2 && responses[0] != responses[1];
}

bool repeat_prompt(const Json& a, Text t) {
  return text::lower(t).starts_with(text::lower(text::trim(text_of(a, "prompt_to_repeat"))));
}
bool start_checker(const Json& a, Text t) {
  return text::lower(t).starts_with(text::lower(text::trim(text_of(a, "start_phrase"))));
}
bool end_checker(const Json& a, Text t) {
  while (t.ends_with('"')) t.remove_suffix(1);
  return text::lower(text::trim(t)).ends_with(text::lower(text::trim(text_of(a, "end_phrase"))));
}
bool quotation(const Json&, Text t) { return t.size() > 1 && t.front() == '"' && t.back() == '"'; }

bool capital_word_frequency(const Json& a, Text t) {
  return relates(text::count_capital_words(t), a, "capital_relation", "capital_frequency");
}
bool english_capital(const Json&, Text t) { return text::has_upper(t) && !text::has_lower(t); }
bool english_lowercase(const Json&, Text t) { return text::has_lower(t) && !text::has_upper(t); }
bool no_comma(const Json&, Text t) { return t.find(',') == kNone; }

struct Row {
  const char* kind;
  bool (*follows)(const Json& arguments, Text text);
};

constexpr std::array kRows = {
    Row{"keywords:existence", existence},
    Row{"keywords:frequency", frequency},
    Row{"keywords:forbidden_words", forbidden},
    Row{"keywords:letter_frequency", letter_frequency},
    Row{"length_constraints:number_words", number_words},
    Row{"length_constraints:number_sentences", number_sentences},
    Row{"length_constraints:number_paragraphs", number_paragraphs},
    Row{"length_constraints:nth_paragraph_first_word", nth_paragraph_first_word},
    Row{"detectable_content:number_placeholders", number_placeholders},
    Row{"detectable_content:postscript", postscript},
    Row{"detectable_format:number_bullet_lists", number_bullets},
    Row{"detectable_format:constrained_response", constrained_response},
    Row{"detectable_format:number_highlighted_sections", number_highlights},
    Row{"detectable_format:multiple_sections", multiple_sections},
    Row{"detectable_format:json_format", json_format},
    Row{"detectable_format:title", title},
    Row{"combination:two_responses", two_responses},
    Row{"combination:repeat_prompt", repeat_prompt},
    Row{"startend:start_checker", start_checker},
    Row{"startend:end_checker", end_checker},
    Row{"startend:quotation", quotation},
    Row{"change_case:capital_word_frequency", capital_word_frequency},
    Row{"change_case:english_capital", english_capital},
    Row{"change_case:english_lowercase", english_lowercase},
    Row{"punctuation:no_comma", no_comma},
};

}  // namespace

bool follows(const std::string& kind, const nlohmann::json& arguments, std::string_view response) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.kind == kind; });
  if (row == kRows.end())
    throw ReferenceFault{fmt::format("the instruction \"{}\" is unknown; {}", kind,
                                     suggest_name(kind, instruction_kinds()))};
  const Text text = text::trim(response);
  return row->follows(arguments, text) && !text.empty();
}

std::vector<std::string> instruction_kinds() {
  std::vector<std::string> kinds;
  for (const Row& row : kRows) kinds.emplace_back(row.kind);
  return kinds;
}

}  // namespace rollcall::reward
