// Judges which of several options is named, by its letter or its words.
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/chat/thoughts.hpp"
#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/complement.hpp"
#include "text/conclusion/final_answer.hpp"
#include "text/conclusion/prose.hpp"
#include "text/tokenizer/token_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

constexpr std::size_t kMostOptions = 26;

struct Question {
  std::size_t right = 0;
  std::vector<std::string> options;  ///< empty strings if only the letters are known
};

Question read_question(const Json& reference) {
  Question question;
  question.options = reference.at("options").get<std::vector<std::string>>();
  const auto letter = reference.at("answer").get<std::string>();
  check_reference(!question.options.empty() && question.options.size() <= kMostOptions,
                  "there are no options, or more than letters");
  check_reference(letter.size() == 1 && letter[0] >= 'A' &&
                      std::size_t(letter[0] - 'A') < question.options.size(),
                  "answer is no option's letter");
  question.right = std::size_t(letter[0] - 'A');
  return question;
}

/// The text in lower case and without an article: "The liver", "the liver" and "liver" are one
/// option.
std::string plain_words(std::string_view text) {
  std::string low = text::lower(text::trim(text));
  for (const std::string_view article : {"the ", "a ", "an "})
    if (low.size() > article.size() && low.starts_with(article))
      return std::string(text::trim(std::string_view(low).substr(article.size())));
  return low;
}

bool same(std::string_view a, std::string_view b) { return plain_words(a) == plain_words(b); }

/// The text without the marks that emphasise it: "**B**", "$B$", "\\boxed{B}".
std::string_view without_marks(std::string_view text) {
  text = text::trim(text);
  for (const auto& [begin, end] : {std::pair<std::string_view, std::string_view>{"\\boxed{", "}"},
                                   {"[[", "]]"},
                                   {"[", "]"},
                                   {"**", "**"},
                                   {"*", "*"},
                                   {"$", "$"},
                                   {"`", "`"}})
    if (text.size() > begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end))
      return without_marks(text.substr(begin.size(), text.size() - begin.size() - end.size()));
  return text;
}

/// Removes the words around an option: "The answer is (B)." -> "(B)"
std::string_view without_words_around(std::string_view text) {
  text = without_marks(text);
  const std::string low = text::lower(text);
  for (const std::string_view lead :
       {"the correct answer is", "the answer is", "answer is", "answer:", "option", "only"}) {
    if (!low.starts_with(lead)) continue;
    text = text::trim(text.substr(lead.size()));
    if (text.starts_with(':')) text.remove_prefix(1);
    break;
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  return without_marks(text);
}

/// Whether the text after a letter is that of its option, with or without a remark after it, or
/// only a remark.
bool says_option(std::string_view text, std::size_t option,
                 const std::vector<std::string>& options) {
  if (same(text, options[option])) return true;
  const text::Tokens tokens(text);
  if (text::announcement_words().reasons.begins(tokens, 0)) return true;
  std::size_t longest = 0, best = options.size();
  const std::string low = text::lower(text);
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string known = text::lower(text::trim(options[i]));
    const bool begins = !known.empty() && low.starts_with(known) && low.size() > known.size() &&
                        std::string_view(".,;").find(low[known.size()]) != std::string_view::npos;
    if (begins && known.size() > longest) longest = known.size(), best = i;
  }
  return best == option;
}

/// Whether the text begins with a letter that alone decides: "B) ...", "(B) ...", "B. 11". "B. It
/// is even." is two sentences and does not.
bool begins_with_letter(std::string_view text, const std::vector<std::string>& options) {
  text = without_words_around(text);
  if (text.starts_with('(')) text.remove_prefix(1);
  if (text.size() > 1 && text.substr(1).starts_with(". ")) {
    const std::string low = text::lower(text::trim(text.substr(2)));
    return std::any_of(options.begin(), options.end(), [&](const auto& o) {
      return !o.empty() && low.starts_with(text::lower(text::trim(o)));
    });
  }
  return text.size() > 1 && text::has_upper(text.substr(0, 1)) &&
         std::string_view(").:").find(text[1]) != std::string_view::npos;
}

/// Whether the text gives a new answer, or withdraws or hedges the one before it.
bool answers_anew(std::string_view said) {
  const auto found = text::final_answer(said, true);
  if (found && found->place <= text::AnswerPlace::announcement) return true;
  const auto& words = text::announcement_words();
  const text::Tokens t(said);
  for (std::size_t i = 0; i < t.size(); ++i) {
    const bool begins = i == 0 || t.is(i - 1, text::Kind::stop) || t.is(i - 1, text::Kind::line) ||
                        t.is(i - 1, text::Kind::comma);
    if (words.rivalry.begins(t, i) ||
        (begins && (words.corrections.begins(t, i) || words.second_thoughts.begins(t, i))))
      return true;
  }
  return false;
}

/// Whether the text may follow a letter: "is correct", or "because ..." without another answer in
/// it.
bool is_only_approved_or_explained(std::string_view text) {
  const text::Tokens t(text);
  const std::size_t approved = text::announcement_words().approvals.after(t, 0);
  if (approved > 0 && approved >= t.size()) return true;
  return (t.word(0) == "because" || t.word(0) == "since") && !answers_anew(text);
}

/// The option that is named: "B", "(b)", "B)", "B. text" or the text; nothing if there is none, or
/// more than one.
std::optional<std::size_t> named_option(std::string_view text,
                                        const std::vector<std::string>& options) {
  // The text of an option may begin like words around an option, so the whole text is compared
  // first.
  for (const std::string_view whole : {text, without_marks(text), without_words_around(text)}) {
    const auto is_text = [&](const std::string& option) {
      return !option.empty() && same(option, whole);
    };
    if (const auto n = std::count_if(options.begin(), options.end(), is_text); n > 0)
      return n == 1 ? std::optional(std::size_t(
                          std::find_if(options.begin(), options.end(), is_text) - options.begin()))
                    : std::nullopt;
  }
  text = without_words_around(text);
  const bool bracketed = text.starts_with('(');
  if (bracketed) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const char letter = text::upper(text.substr(0, 1)).front();
  if (letter < 'A' || std::size_t(letter - 'A') >= options.size()) return std::nullopt;
  text = text::trim(text.substr(1));  // "B - 12"
  const bool closed =
      !text.empty() && std::string_view(").:-").find(text.front()) != std::string_view::npos;
  if (closed) text.remove_prefix(1);
  if (bracketed && !closed) return std::nullopt;
  const std::size_t option = std::size_t(letter - 'A');
  text = text::trim(text);
  if (text.empty()) return option;
  if (!closed && is_only_approved_or_explained(text)) return option;
  return closed && says_option(text, option, options) ? std::optional(option) : std::nullopt;
}

/// The option that stands alone in the first line, above an explanation.
std::optional<std::size_t> first_line_option(std::string_view said,
                                             const std::vector<std::string>& options) {
  const std::size_t line_break = said.find('\n');
  if (line_break == std::string_view::npos) return std::nullopt;
  const std::string_view line = text::trim(said.substr(0, line_break)),
                         rest = text::trim(said.substr(line_break));
  const auto named = [&](std::string_view text) {
    const auto found = named_option(text, options);
    return found ? found : named_option(text::plain_latex(text), options);
  };
  // the last condition excludes a list of the options
  if (named(rest) || answers_anew(rest) || begins_with_letter(rest, options)) return std::nullopt;
  if (const auto option = named(line)) return option;
  const std::size_t space = line.find(' ');  // (C) 20 m/s
  const auto letter =
      space == std::string_view::npos ? std::nullopt : named_option(line.substr(0, space), options);
  return letter && same(line.substr(space), options[*letter]) ? letter : std::nullopt;
}

/// The option that is the first word: "No, because 91 = 7 * 13." if the options are Yes and No.
std::optional<std::size_t> leading_word(std::string_view said,
                                        const std::vector<std::string>& options) {
  const text::Tokens t(said);
  const std::size_t first = text::skip_marks(t, 0), next = text::skip_marks(t, first + 1);
  const std::string_view word = t.word(first);
  const bool is_alone = t.is(next, text::Kind::comma) || t.is(next, text::Kind::stop) ||
                        t.is(next, text::Kind::colon) || t.is(next, text::Kind::dash) ||
                        t.is(next, text::Kind::semicolon) || t.is(next, text::Kind::line);
  if (!is_alone || (word != "yes" && word != "no" && word != "true" && word != "false"))
    return std::nullopt;
  std::optional<std::size_t> option;
  for (std::size_t n = 0; n < options.size(); ++n) {
    if (same(options[n], word)) option = n;
    else
      for (std::size_t i = next; i < t.size(); ++i)
        // "no number" is not an answer
        if (same(t.word(i), options[n]) && !t.is(i + 1, text::Kind::word)) return std::nullopt;
  }
  return answers_anew(text::trim(said.substr(t[first].end + 1))) ? std::nullopt : option;
}

/// The option whose words the last sentence ends with: "The capital of Australia is Canberra."
std::optional<std::size_t> closing_option(std::string_view said,
                                          const std::vector<std::string>& options) {
  std::optional<std::size_t> option;
  std::size_t nearest = said.size() + 1;
  for (std::size_t n = 0; n < options.size(); ++n) {
    const auto sentence =
        options[n].size() > 1 ? text::closing_sentence(said, text::trim(options[n])) : std::nullopt;
    if (!sentence || *sentence > nearest) continue;
    option = *sentence == nearest ? std::nullopt : std::optional(n);
    nearest = *sentence;
  }
  return option;
}

/// An option named by itself, in LaTeX, or announced in words.
std::optional<std::size_t> chosen_option(std::string_view text,
                                         const std::vector<std::string>& options) {
  if (const auto named = named_option(text, options)) return named;
  const std::string plain = text::plain_latex(text);
  if (const auto named = named_option(plain, options)) return named;
  std::string storage;
  const std::string_view said = text::trim(text::spoken(text, storage));
  if (const auto first = first_line_option(said, options)) return first;
  if (const auto word = leading_word(said, options)) return word;
  const auto found = text::final_answer(text, true);
  const bool is_announced = found && found->place <= text::AnswerPlace::announcement;
  // "B) 11", where 11 is another option
  if (!is_announced && begins_with_letter(plain, options)) return std::nullopt;
  const auto stated = text::stated_answer(text);
  if (stated)
    if (const auto named = named_option(*stated, options)) return named;
  if (stated)
    if (const auto named = named_option(text::plain_latex(*stated), options)) return named;
  return is_announced ? std::nullopt : closing_option(said, options);
}

}  // namespace

Score judge_multiple_choice(const Prompt& prompt, const Response& response) {
  const auto question =
      read_reference(prompt, R"({"answer": "B", "options": ["11", "12", "13"]})", read_question);
  const auto text = complete_answer(response);
  if (!text) return no_answer(2);
  const auto option = chosen_option(*text, question.options);
  if (!option) return score_of({0, 0}, {}, "it names no single option");
  const bool correct = *option == question.right;
  return score_of({double(correct), 1.0}, std::string(1, char('A' + *option)),
                  "another option is right");
}

}  // namespace rollcall::reward
