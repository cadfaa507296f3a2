// Rewrites what has a plain spelling before it is cut into tokens.
#include "reward/math/spelling.hpp"

#include "reward/math/tokens.hpp"

#include <algorithm>
#include <cctype>
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
                                    {"ℝ", "\\mathbb{R}"},
                                    {"ℤ", "\\mathbb{Z}"},
                                    {"…", "\\ldots "},
                                    {"¢", "\\text{ cents}"},
                                    {"，", ", "},
                                    {"、", ", "},
                                    {"；", "; "},
                                    {"：", ":"},
                                    {"（", "("},
                                    {"）", ")"},
                                    {"＝", "="},
                                    {"％", "%"},
                                    {"。", "."},
                                    {"\xE2\x80\xAF", "~"},  // spaces of other widths
                                    {"\xE2\x80\x89", "~"},
                                    {"\xC2\xA0", "~"}};
/// Commands with one argument that show nothing of the value.
constexpr std::string_view kDropped[] = {"\\textcolor", "\\color", "\\hspace", "\\vspace", "\\phantom", "\\cancel"};

template <class Table>
const Spelling* at_start(const Table& table, std::string_view rest) {
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const Spelling& s) { return rest.starts_with(s.from); });
  return row == std::end(table) ? nullptr : &*row;
}

struct Piece {
  std::string to;
  std::size_t size = 0;  ///< of what it stands for
};

/// What stands at an edge of \text{...} and belongs outside: \text{\$}5, \text{Total: }12, 2\text{ hours and }30.
Piece outside_text(std::string_view rest, char before) {
  if (rest.starts_with("\\text{\\") && rest.size() > 8 && rest[8] == '}' && (rest[7] == '$' || rest[7] == '%')) return {{'\\', rest[7]}, 9};
  if (std::isalpha(static_cast<unsigned char>(before)) == 0) return {};
  for (const std::string_view end : {":}", ": }"})
    if (rest.starts_with(end)) return {"}:", end.size()};
  for (const std::string_view end : {" and}", " and }"})
    if (rest.starts_with(end)) return {"}\\text{and}", end.size()};
  return {};
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

/// The length of the ending of an ordinal that ends in `digit`, as in 3rd, 3^{rd} and 3\text{rd}; zero where there is none.
std::size_t ordinal(char digit, std::string_view rest) {
  if (digit < '0' || digit > '9') return 0;
  std::size_t at = 0, open = 0;
  for (const std::string_view mark : {"^", "{", "\\text{", "\\mathrm{", "\\textrm{"})
    if (rest.substr(at).starts_with(mark)) at += mark.size(), open += mark.ends_with('{') ? 1 : 0;
  const std::string_view ending = rest.substr(at, 2);
  if (ending != "th" && ending != (digit == '1' ? "st" : digit == '2' ? "nd" : digit == '3' ? "rd" : "th")) return 0;
  at += 2;
  for (; open > 0 && at < rest.size() && rest[at] == '}'; --open) ++at;
  const bool ends = open == 0 && (at == rest.size() || std::isalpha(static_cast<unsigned char>(rest[at])) == 0);
  return ends ? at : 0;
}

/// Without "for all x" behind a single formula, which says what is meant anyway, and without the article before a single word.
std::string_view essential(std::string_view text) {
  if (text.starts_with("an ") && text.size() > 6 && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 3) == std::string_view::npos) text.remove_prefix(3);
  const std::size_t at = std::min({text.find("for all"), text.find("for every"), text.find("\\forall")});
  if (at == std::string_view::npos) return text;
  const std::string_view clause = text.substr(at);
  if (clause.find_first_of(",;") != std::string_view::npos || clause.find("and") != std::string_view::npos || clause.find(" or") != std::string_view::npos)
    return text;
  std::string_view formula = text.substr(0, at);
  for (const std::string_view opening : {" ", "\\text{", " "})
    while (formula.ends_with(opening)) formula.remove_suffix(opening.size());
  return formula.empty() || formula.ends_with('{') ? text : formula;
}

}  // namespace

std::string respelt(std::string_view whole) {
  const std::string_view text = essential(whole);
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_ascii = static_cast<unsigned char>(rest[0]) < 0x80;
    if (const auto* row = is_ascii ? nullptr : at_start(kSuperscripts, rest)) {
      plain += "^{";
      for (; row != nullptr; row = at_start(kSuperscripts, text.substr(at))) plain += row->to, at += row->from.size();
      plain += '}';
    } else if (const std::size_t ending = ordinal(plain.empty() ? ' ' : plain.back(), rest); ending > 0) {
      at += ending;
    } else if (const auto* character = is_ascii ? nullptr : at_start(kCharacters, rest)) {
      plain += character->to, at += character->from.size();
    } else if (Piece piece = outside_text(rest, plain.empty() ? ' ' : plain.back()); piece.size > 0) {
      plain += piece.to, at += piece.size;
    } else if (rest.substr(1).starts_with(".m.") && (rest[0] == 'a' || rest[0] == 'p')) {
      plain += rest[0], plain += 'm', at += 4;
    } else if (const std::size_t size = rest[0] == '\\' ? dropped(rest) : 0; size > 0) {
      plain += ' ', at += size;
    } else {
      plain += rest[0], ++at;
    }
  }
  return plain;
}

}  // namespace rollcall::reward::math
