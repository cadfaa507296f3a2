// One of several options, by its letter or in its own words.
#include "reward/reference.hpp"
#include "text/answer_text.hpp"
#include "text/prose.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

constexpr std::size_t kMostOptions = 26;

struct Question {
  std::size_t right = 0;
  std::vector<std::string> options;  ///< may be empty texts, where only letters are known
};

Question read_question(const Json& reference) {
  Question question;
  question.options = reference.at("options").get<std::vector<std::string>>();
  const auto letter = reference.at("answer").get<std::string>();
  check_reference(!question.options.empty() && question.options.size() <= kMostOptions, "there are no options, or more than letters");
  check_reference(letter.size() == 1 && letter[0] >= 'A' && std::size_t(letter[0] - 'A') < question.options.size(), "answer is no option's letter");
  question.right = std::size_t(letter[0] - 'A');
  return question;
}

bool same(std::string_view a, std::string_view b) { return text::lower(text::trim(a)) == text::lower(text::trim(b)); }

/// Without what sets it off: "**B**", "$B$", "\\boxed{B}".
std::string_view without_marks(std::string_view text) {
  text = text::trim(text);
  for (const auto& [begin, end] : {std::pair<std::string_view, std::string_view>{"\\boxed{", "}"}, {"**", "**"}, {"*", "*"}, {"$", "$"}, {"`", "`"}})
    if (text.size() > begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end))
      return without_marks(text.substr(begin.size(), text.size() - begin.size() - end.size()));
  return text;
}

/// "The answer is (B)." -> "(B)"
std::string_view without_words_around(std::string_view text) {
  text = without_marks(text);
  const std::string low = text::lower(text);
  for (const std::string_view lead : {"the correct answer is", "the answer is", "answer is", "answer:", "option"}) {
    if (!low.starts_with(lead)) continue;
    text = text::trim(text.substr(lead.size()));
    if (text.starts_with(':')) text.remove_prefix(1);
    break;
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  return without_marks(text);
}

/// The one option named: "B", "(b)", "B)", "B. text" or the text; none where it is none, or two.
std::optional<std::size_t> named_option(std::string_view text, const std::vector<std::string>& options) {
  for (const std::string_view whole : {text, without_marks(text), without_words_around(text)}) {  // an option may look like words around one
    const auto is_text = [&](const std::string& option) { return !option.empty() && same(option, whole); };
    if (const auto n = std::count_if(options.begin(), options.end(), is_text); n > 0)
      return n == 1 ? std::optional(std::size_t(std::find_if(options.begin(), options.end(), is_text) - options.begin())) : std::nullopt;
  }
  text = without_words_around(text);
  const bool bracketed = text.starts_with('(');
  if (bracketed) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const char letter = text::upper(text.substr(0, 1)).front();
  if (letter < 'A' || std::size_t(letter - 'A') >= options.size()) return std::nullopt;
  text = text::trim(text.substr(1));  // "B - 12"
  const bool closed = !text.empty() && std::string_view(").:-").find(text.front()) != std::string_view::npos;
  if (closed) text.remove_prefix(1);
  if (bracketed && !closed) return std::nullopt;
  const std::size_t option = std::size_t(letter - 'A');
  text = text::trim(text);
  if (text.empty()) return option;
  return closed && same(text, options[option]) ? std::optional(option) : std::nullopt;
}

}  // namespace

Score judge_multiple_choice(const Prompt& prompt, const Response& response) {
  const auto question = read_reference(prompt, R"({"answer": "B", "options": ["11", "12", "13"]})", read_question);
  const auto text = complete_answer(response);
  if (!text) return no_answer(2);
  const auto option = named_option(*text, question.options);
  if (!option) return score_of({0, 0}, {}, "it names no single option");
  const bool correct = *option == question.right;
  return score_of({double(correct), 1.0}, std::string(1, char('A' + *option)), "another option is right");
}

}  // namespace rollcall::reward
