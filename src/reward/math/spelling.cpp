// Rewrites what has a plain spelling before it is cut into tokens.
#include "reward/math/spelling.hpp"

#include "reward/math/tokens.hpp"

#include <algorithm>
#include <iterator>

namespace rollcall::reward::math {
namespace {

struct Spelling {
  std::string_view from, to;
};

constexpr Spelling kSuperscripts[] = {{"⁰", "0"}, {"¹", "1"}, {"²", "2"}, {"³", "3"}, {"⁴", "4"}, {"⁵", "5"}, {"⁶", "6"},
                                      {"⁷", "7"}, {"⁸", "8"}, {"⁹", "9"}, {"⁻", "-"}, {"⁺", "+"}, {"ⁿ", "n"}};
constexpr Spelling kCharacters[] = {{"½", "\\frac{1}{2}"},
                                    {"⅓", "\\frac{1}{3}"},
                                    {"⅔", "\\frac{2}{3}"},
                                    {"¼", "\\frac{1}{4}"},
                                    {"¾", "\\frac{3}{4}"},
                                    {"⅕", "\\frac{1}{5}"},
                                    {"⅛", "\\frac{1}{8}"},
                                    {"⅙", "\\frac{1}{6}"},
                                    {"∛", "\\cbrt "},
                                    {"—", "-"},
                                    {"∙", "\\cdot "},
                                    {"•", "\\cdot "},
                                    {"“", " "},
                                    {"”", " "},
                                    {"∖", "\\setminus "},
                                    {"ℝ", "\\mathbb{R}"}};
/// Commands with one argument that show nothing of the value.
constexpr std::string_view kDropped[] = {"\\textcolor", "\\color", "\\hspace", "\\vspace", "\\phantom", "\\cancel"};

template <class Table>
const Spelling* at_start(const Table& table, std::string_view rest) {
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const Spelling& s) { return rest.starts_with(s.from); });
  return row == std::end(table) ? nullptr : &*row;
}

/// The length of a dropped command with its argument; zero where none begins.
std::size_t dropped(std::string_view rest) {
  for (const std::string_view command : kDropped) {
    if (!rest.starts_with(command)) continue;
    const std::size_t open = rest.find_first_not_of("* ", command.size());
    const std::size_t close = open < rest.size() && rest[open] == '{' ? group_end(rest, open) : std::string_view::npos;
    if (close != std::string_view::npos) return close;
  }
  return 0;
}

}  // namespace

std::string respelt(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (const auto* row = at_start(kSuperscripts, rest)) {
      plain += "^{";
      for (; row != nullptr; row = at_start(kSuperscripts, text.substr(at))) plain += row->to, at += row->from.size();
      plain += '}';
    } else if (const auto* character = at_start(kCharacters, rest)) {
      plain += character->to, at += character->from.size();
    } else if (const std::size_t size = rest[0] == '\\' ? dropped(rest) : 0; size > 0) {
      plain += ' ', at += size;
    } else {
      plain += rest[0], ++at;
    }
  }
  return plain;
}

}  // namespace rollcall::reward::math
