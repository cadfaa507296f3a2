// Removes words that announce, hedge or quote an answer without changing its value.
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/spelling.hpp"
#include "reward/math/parser/tokens.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>

namespace rollcall::reward::math {
namespace {

/// Phrases that announce an answer or hedge a number without changing its value, in lower case.
/// "\text{" may precede them.
constexpr std::string_view kOpenings[] = {"the final answer is",
                                          "the answer is",
                                          "final answer is",
                                          "answer is",
                                          "final answer:",
                                          "the answer:",
                                          "answer:",
                                          "equal to ",
                                          "equals ",
                                          "approximately ",
                                          "about ",
                                          "roughly ",
                                          "around ",
                                          "exactly ",
                                          "precisely ",
                                          "a total of ",
                                          "only ",
                                          "either ",
                                          "both ",
                                          "答案是",
                                          "答案为",
                                          "答案：",
                                          "答案:",
                                          "答："};
constexpr std::string_view kEndings[] = {"is the final answer", "is the answer", "is my answer",
                                         "is the solution",     "is correct",    "in total",
                                         "altogether"};
constexpr std::string_view kTexts[] = {"\\text{", "\\textbf{", "\\mathrm{", "\\textrm{", "\\mbox{"};

/// The text without quotation marks or marks of emphasis around it: "5", `5`, **5**.
std::string_view unquoted(std::string_view text) {
  for (const std::string_view mark : {"**", "__", "\"", "`", "*", "'"})
    while (text.size() > 2 * mark.size() && text.starts_with(mark) && text.ends_with(mark))
      text = text.substr(mark.size(), text.size() - 2 * mark.size());
  return text;
}

/// The text without one of the openings, which may be in a text wrapper; the rest of the wrapper is
/// kept.
std::string without_opening(const std::string& text) {
  const std::string_view wrapper = text_wrapper(text);
  constexpr std::string_view kInitials = "tTfFaAeErRpPoObB\xE7";
  if (text.size() <= wrapper.size() ||
      kInitials.find(text[wrapper.size()]) == std::string_view::npos)
    return text;
  const std::string lower = text::lower(std::string_view(text).substr(wrapper.size(), 24));
  const auto row = std::find_if(std::begin(kOpenings), std::end(kOpenings),
                                [&](std::string_view o) { return lower.starts_with(o); });
  if (row == std::end(kOpenings)) return text;
  std::string rest = text.substr(wrapper.size() + row->size());
  rest.erase(0, std::min(rest.find_first_not_of(" :~"), rest.size()));
  if (rest.empty()) return text;
  if (wrapper.empty()) return rest;
  if (rest.starts_with('}')) return rest.substr(1);  // \text{about }12
  return group_end("{" + rest, 0) == rest.size() + 1 ? rest.substr(0, rest.size() - 1)
                                                     : std::string(wrapper) + rest;
}

std::string without_ending(std::string text) {
  const bool has_brace = text.ends_with('}');
  if (text.size() < 8 || std::string_view("rntl").find(text[text.size() - (has_brace ? 2 : 1)]) ==
                             std::string_view::npos)
    return text;
  const std::string lower =
      text::lower(std::string_view(text).substr(0, text.size() - (has_brace ? 1 : 0)));
  for (const std::string_view ending : kEndings) {
    if (!lower.ends_with(ending) || lower.size() == ending.size()) continue;
    std::string rest = text.substr(0, lower.size() - ending.size());
    while (rest.ends_with(' ')) rest.pop_back();
    if (!has_brace) return rest;
    for (const std::string_view wrapper : kTexts)
      if (rest.ends_with(wrapper)) return rest.substr(0, rest.size() - wrapper.size());
    return rest + '}';
  }
  return text;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Position of a word in a text, from byte `from` on, where it stands as a separate word; npos if
/// it does not.
std::size_t whole_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || (!is_letter(text[at - 1]) && text[at - 1] != '\\')) &&
        (end == text.size() || !is_letter(text[end])))
      return at;
  }
  return std::string_view::npos;
}

/// The text without the spaces, brackets and wrappers at its end that lead into a reason.
std::string_view without_lead(std::string_view text) {
  for (std::size_t size = 0; size != text.size();) {
    size = text.size();
    for (const std::string_view lead : {" ", "~", ",", "(", "{(", "\\,", "\\;", "\\ ", "\\quad",
                                        "\\qquad", "\\text{", "\\mathrm{", "\\textrm{", "\\mbox{"})
      if (text.ends_with(lead)) text.remove_suffix(lead.size());
  }
  return text;
}

/// The text without a reason or a condition on the name: 7 \text{ (since } n > 0), n = 7 \quad (n >
/// 0). The part that is removed must not offer another value.
std::string without_reason(const std::string& text) {
  std::size_t at = std::min(whole_word(text, "since", 1), whole_word(text, "because", 1));
  if (const std::size_t quad = std::min(text.find("\\quad ("), text.find("\\qquad ("));
      at == std::string::npos && quad != std::string::npos && text.ends_with(')'))
    if (text.find_first_of("<>", quad) != std::string::npos ||
        text.find("\\ge", quad) != std::string::npos ||
        text.find("\\le", quad) != std::string::npos ||
        text.find("\\ne", quad) != std::string::npos)
      at = quad;
  if (at == std::string::npos || whole_word(text, "or", at) != std::string::npos ||
      text.find("\\lor", at) != std::string::npos)
    return text;
  const std::string_view head = without_lead(std::string_view(text).substr(0, at));
  return head.find_first_of("0123456789") == std::string_view::npos ? text : std::string(head);
}

/// The text with "1 in 4" or "1 out of 4" as a fraction.
std::string with_fraction(std::string text) {
  const auto digits = [](std::string_view s) {
    return std::min(s.find_first_not_of("0123456789"), s.size());
  };
  const auto skip = [](std::string_view s) {
    return s.substr(std::min(s.find_first_not_of(" ~}"), s.size()));
  };
  const std::string_view top = std::string_view(text).substr(0, digits(text));
  std::string_view rest = skip(std::string_view(text).substr(top.size()));
  rest = skip(rest.substr(text_wrapper(rest).size()));
  for (const std::string_view word : {"in ", "in}", "out of ", "out of}"}) {
    if (top.empty() || !rest.starts_with(word)) continue;
    const std::string_view bottom = skip(rest.substr(word.size()));
    if (!bottom.empty() && digits(bottom) == bottom.size())
      return std::string("\\frac{").append(top).append("}{").append(bottom).append("}");
  }
  return text;
}

/// The text with "a" as "per" in a rate: 624 pages a year.
std::string with_rate(std::string text) {
  std::string_view words = text;
  const bool has_brace = words.ends_with('}');
  if (has_brace) words.remove_suffix(1);
  for (const std::string_view period :
       {"day", "week", "month", "year", "hour", "minute", "second"}) {
    if (!words.ends_with(period)) continue;
    const std::string_view to_article = words.substr(0, words.size() - period.size());
    for (const std::string_view article : {" a ", " an ", " each ", " every "}) {
      if (!to_article.ends_with(article)) continue;
      const std::string_view before = to_article.substr(0, to_article.size() - article.size());
      bool is_part = false;  // whether the article belongs to "half an hour" and the like
      for (const std::string_view part :
           {"of", "half", "quarter", "third", "once", "twice", "times"})
        is_part = is_part || before.ends_with(part);
      if (!is_part)
        return std::string(before).append(" per ").append(period).append(has_brace ? "}" : "");
    }
  }
  return text;
}

}  // namespace

std::string_view text_wrapper(std::string_view text) {
  const auto row = std::find_if(std::begin(kTexts), std::end(kTexts),
                                [&](std::string_view t) { return text.starts_with(t); });
  return row == std::end(kTexts) ? std::string_view() : *row;
}

std::string divided(std::string_view whole) {
  constexpr std::string_view kMarks[] = {"remainder", "rem", "R", "r"};
  const auto digits = [](std::string_view text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
  };
  const auto skip = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" ~.,"), text.size()));
  };
  const std::string_view quotient = whole.substr(0, digits(whole));
  std::string_view rest = skip(whole.substr(quotient.size()));
  if (quotient.empty() || rest.empty()) return std::string(whole);
  const std::string_view wrapper = text_wrapper(rest);
  rest = skip(rest.substr(wrapper.size()));
  const auto mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                 [&](std::string_view one) { return rest.starts_with(one); });
  if (mark == std::end(kMarks)) return std::string(whole);
  rest = skip(rest.substr(mark->size()));
  if (!wrapper.empty() && rest.starts_with('}')) rest = skip(rest.substr(1));
  const std::string_view remainder = rest.substr(0, digits(rest));
  rest = rest.substr(remainder.size());
  if (!wrapper.empty() && rest.ends_with('}')) rest.remove_suffix(1);  // \text{remainder 3}
  if (remainder.empty() || !(rest.empty() || rest == ".")) return std::string(whole);
  return std::string(1, '(').append(quotient).append(", R, ").append(remainder).append(1, ')');
}

std::string essential(std::string_view whole) {
  std::string plain(unquoted(whole));
  for (std::size_t size = 0; size != plain.size();)
    size = plain.size(), plain = without_ending(without_opening(plain));
  plain = with_rate(with_fraction(without_reason(plain)));
  for (const auto& [words, sign] :
       {std::pair<std::string_view, const char*>(" is equal to ", " = "),
        {" equals ", " = "},
        {" per cent", " percent"}}) {
    const std::size_t at = plain.find(words);
    if (at != std::string::npos &&
        !std::string_view(plain).substr(at + words.size()).starts_with('s'))
      plain.replace(at, words.size(), sign);
  }
  std::string_view text = plain;
  for (const std::string_view article : {"an ", "a ", "the "}) {
    const bool is_one_word = text.starts_with(article) && text.size() > article.size() + 2 &&
                             text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", article.size()) ==
                                 std::string_view::npos;
    if (is_one_word && !numeral_at(text)) text.remove_prefix(article.size());
  }
  const std::size_t at =
      std::min({text.find("for all"), text.find("for every"), text.find("\\forall")});
  if (at == std::string_view::npos) return std::string(text);
  const std::string_view clause = text.substr(at);
  if (clause.find_first_of(",;") != std::string_view::npos ||
      clause.find("and") != std::string_view::npos || clause.find(" or") != std::string_view::npos)
    return std::string(text);
  std::string_view formula = text.substr(0, at);
  for (const std::string_view opening : {" ", "\\text{", " "})
    while (formula.ends_with(opening)) formula.remove_suffix(opening.size());
  return std::string(formula.empty() || formula.ends_with('{') ? text : formula);
}

}  // namespace rollcall::reward::math
