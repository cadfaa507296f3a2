// Recognises the labels of choices.
#include "reward/math/choice.hpp"

#include <algorithm>
#include <cctype>

namespace rollcall::reward::math {
namespace {

constexpr std::string_view kMarks = ").:";  // marks after a letter

bool is_choice(char c) { return c >= 'A' && c <= 'J'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Whether the text contains another label: (B), or B. as a separate word.
bool names_another(std::string_view said) {
  for (const std::string_view word : {"and ", "or ", "& ", "/ ", ", "})
    if (said.starts_with(word)) return true;
  for (std::size_t at = 0; at + 1 < said.size(); ++at) {
    if (!is_choice(said[at]) || (at > 0 && is_letter(said[at - 1]))) continue;
    const bool is_bracketed = at > 0 && said[at - 1] == '(' && said[at + 1] == ')';
    const bool is_marked = kMarks.find(said[at + 1]) != std::string_view::npos &&
                           at + 2 < said.size() && said[at + 2] == ' ';
    if (is_bracketed || is_marked) return true;
  }
  return false;
}

}  // namespace

std::optional<Choice> choice_of(std::string_view text) {
  bool is_text = false;
  for (const std::string_view wrapper : {"\\textbf{", "\\text{", "\\textrm{", "\\textit{",
                                         "\\mathrm{", "\\mathbf{", "\\boxed{", "**"})
    if (text.starts_with(wrapper)) text.remove_prefix(wrapper.size()), is_text = true;
  bool is_named = false;  // "Option C", which needs no mark after the letter
  for (const std::string_view name :
       {"option ", "choice ", "answer ", "Option ", "Choice ", "Answer "})
    if (text.starts_with(name)) text.remove_prefix(name.size()), is_named = true;
  const bool is_bracketed = text.starts_with('(');
  if (is_bracketed) text.remove_prefix(1);
  if (text.empty() || !is_choice(text[0])) return std::nullopt;
  Choice choice{text[0]};
  if (is_named && (text.size() == 1 || text == std::string{text[0], '}'})) return choice;
  text.remove_prefix(1);
  if (is_text && !is_bracketed && text.starts_with('}')) text.remove_prefix(1);  // \textbf{C}. 5
  if (text.empty() ||
      (is_bracketed ? std::string_view(")") : kMarks).find(text[0]) == std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(1);
  const std::size_t begin = std::min(text.find_first_not_of(" ~}*\\"), text.size());
  // (C)5 is a product, C:D a ratio
  if (begin == 0 && !text.empty() && !is_text) return std::nullopt;
  // The backslash belongs to a command; "\ " is a space.
  if (begin > 0 && text[begin - 1] == '\\' && begin < text.size()) choice.said = '\\';
  choice.said += text.substr(begin);
  const auto braces = [&](char brace) {
    return std::count(choice.said.begin(), choice.said.end(), brace);
  };
  while (choice.said.ends_with(' ') || (choice.said.ends_with('}') && braces('}') > braces('{')))
    choice.said.pop_back();
  return names_another(choice.said) ? std::nullopt : std::optional(std::move(choice));
}

}  // namespace rollcall::reward::math
