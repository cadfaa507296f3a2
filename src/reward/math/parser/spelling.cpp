// Rewrites spellings that have a plain form, before the text is cut into tokens.
#include "reward/math/parser/spelling.hpp"

#include "reward/math/parser/tokens.hpp"
#include "reward/math/parser/units.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

namespace rollcall::reward::math {
namespace {

struct Spelling {
  std::string_view from, to;
};

constexpr Spelling kSuperscripts[] = {{"⁰", "0"}, {"¹", "1"}, {"²", "2"}, {"³", "3"}, {"⁴", "4"},
                                      {"⁵", "5"}, {"⁶", "6"}, {"⁷", "7"}, {"⁸", "8"}, {"⁹", "9"},
                                      {"⁻", "-"}, {"⁺", "+"}, {"ⁿ", "n"}};
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
                                    {"″", "''"},
                                    {"’", "'"},
                                    {"∖", "\\setminus "},
                                    {"ℝ", "\\mathbb{R}"},
                                    {"ℤ", "\\mathbb{Z}"},
                                    {"…", "\\ldots "},
                                    {"¢", "\\text{ cents}"},
                                    {"℃", "^\\circ C"},
                                    {"℉", "^\\circ F"},
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
/// Commands with one argument that does not contribute to the value.
constexpr std::string_view kDropped[] = {"\\textcolor", "\\color",  "\\hspace", "\\vspace",
                                         "\\phantom",   "\\cancel", "\\tag"};

template <class Table>
const Spelling* at_start(const Table& table, std::string_view rest) {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&](const Spelling& s) { return rest.starts_with(s.from); });
  return row == std::end(table) ? nullptr : &*row;
}

struct Piece {
  std::string to;
  std::size_t size = 0;  ///< bytes of the replaced text
};

/// The part at an edge of \text{...} that belongs outside of it: \text{\$}5, \text{Total: }12,
/// 2\text{ hours and }30.
Piece outside_text(std::string_view rest, char before) {
  if (rest.starts_with("\\text{\\") && rest.size() > 8 && rest[8] == '}' &&
      (rest[7] == '$' || rest[7] == '%'))
    return {{'\\', rest[7]}, 9};
  if (std::isalpha(static_cast<unsigned char>(before)) == 0) return {};
  for (const std::string_view end : {":}", ": }"})
    if (rest.starts_with(end)) return {"}:", end.size()};
  for (const std::string_view end : {" and}", " and }"})
    if (rest.starts_with(end)) return {"}\\text{and}", end.size()};
  return {};
}

/// Length of a dropped command with its argument; zero if none begins here.
std::size_t dropped(std::string_view rest) {
  if (rest.size() < 2 || std::string_view("tchvp").find(rest[1]) == std::string_view::npos)
    return 0;
  for (const std::string_view command : kDropped) {
    if (!rest.starts_with(command)) continue;
    const std::size_t open = rest.find_first_not_of("* ", command.size());
    const std::size_t close =
        open < rest.size() && rest[open] == '{' ? group_end(rest, open) : std::string_view::npos;
    if (close != std::string_view::npos) return close;
  }
  return 0;
}

/// Length of the ending of an ordinal whose last digit is `digit`, as in 3rd, 3^{rd} and
/// 3\text{rd}; zero if there is none.
std::size_t ordinal(char digit, std::string_view rest) {
  if (digit < '0' || digit > '9') return 0;
  std::size_t at = 0, open = 0;
  for (const std::string_view mark : {"^", "{", "\\text{", "\\mathrm{", "\\textrm{"})
    if (rest.substr(at).starts_with(mark)) at += mark.size(), open += mark.ends_with('{') ? 1 : 0;
  const std::string_view ending = rest.substr(at, 2);
  if (ending != "th" && ending != (digit == '1'   ? "st"
                                   : digit == '2' ? "nd"
                                   : digit == '3' ? "rd"
                                                  : "th"))
    return 0;
  at += 2;
  for (; open > 0 && at < rest.size() && rest[at] == '}'; --open) ++at;
  const bool ends =
      open == 0 && (at == rest.size() || std::isalpha(static_cast<unsigned char>(rest[at])) == 0);
  return ends ? at : 0;
}

/// Length of "\pmod{7}", "\pmod 7" or "(mod 7)", with its number in `number`; zero for any other
/// text.
std::size_t modulus(std::string_view rest, std::string& number) {
  if (rest.size() < 5 || rest.substr(0, 8).find("mod") == std::string_view::npos) return 0;
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>("\\pmod{", "}"),
                                    {"\\pmod ", ""},
                                    {"\\pmod", ""},
                                    {"(\\mod ", ")"},
                                    {"(\\bmod ", ")"},
                                    {"(mod ", ")"},
                                    {"\\bmod ", ""},
                                    {"\\mod ", ""}}) {
    if (!rest.starts_with(open)) continue;
    const std::size_t end =
        std::min(rest.find_first_not_of("0123456789", open.size()), rest.size());
    if (end == open.size() || !rest.substr(end).starts_with(close)) continue;
    number = rest.substr(open.size(), end - open.size());
    return end + close.size();
  }
  return 0;
}

/// Whether the text ends in an abbreviation that may have a period: 6 sq. ft.
bool ends_in_unit(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && std::isalpha(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  const std::string_view word = text.substr(begin);
  return word.size() > 1 && begin > 0 && text[begin - 1] != '\\' &&
         (word == "sq" || word == "cu" || is_unit(word));
}

/// Length of \text{ k}\Omega, whose prefix is in a separate group; zero for any other text.
std::size_t prefixed_ohm(std::string_view rest, std::string_view wrapper, std::string& unit) {
  const std::size_t at = std::min(rest.find_first_not_of(" ~", wrapper.size()), rest.size());
  const std::string_view symbol = rest.substr(at, 1),
                         behind = rest.substr(std::min(at + 1, rest.size()));
  if (symbol.empty() || std::string_view("kMGm").find(symbol) == std::string_view::npos ||
      !behind.starts_with('}'))
    return 0;
  for (const std::string_view space : {"", " ", "\\,", "~", "\\ "})
    for (const std::string_view name : {"\\Omega", "Ω"})
      if (behind.substr(1).starts_with(std::string(space).append(name))) {
        unit = std::string(symbol) + "Ω";
        return at + 2 + space.size() + name.size();
      }
  return 0;
}

/// Finds the symbol of a unit with a Greek letter after a number: 5 \mu m, 5 kΩ,
/// 5\,\mathrm{k}\Omega. Returns its length, with its text in `unit`; zero for any other text.
std::size_t greek_unit(std::string_view rest, std::string_view before, std::string& unit) {
  for (std::size_t size = 0; size != before.size();) {
    size = before.size();
    while (!before.empty() &&
           std::string_view(" ~\\,").find(before.back()) != std::string_view::npos)
      before.remove_suffix(1);
    for (const std::string_view blank : {"\\text{ }", "\\text{}", "\\mathrm{~}", "\\mathrm{ }"})
      if (before.ends_with(blank)) before.remove_suffix(blank.size());
  }
  if (before.empty() || std::isdigit(static_cast<unsigned char>(before.back())) == 0) return 0;
  for (const std::string_view ohm :
       {"Ω", "\xE2\x84\xA6", "\\Omega", "kΩ", "MΩ", "k\\Omega", "M\\Omega"}) {
    if (!rest.starts_with(ohm)) continue;
    unit = (ohm[0] == 'k' || ohm[0] == 'M' ? std::string(1, ohm[0]) : std::string()) + "Ω";
    return ohm.size();
  }
  if (const std::string_view wrapper = text_wrapper(rest); !wrapper.empty())
    return prefixed_ohm(rest, wrapper, unit);
  for (const std::string_view micro : {"µ", "μ", "\\mu", "\\upmu", "\\textmu", "\\micro"}) {
    if (!rest.starts_with(micro)) continue;
    std::size_t at = micro.size();
    while (at < rest.size() && rest[at] == ' ') ++at;
    const std::string_view wrapper = text_wrapper(rest.substr(at));
    const std::size_t begin = at + wrapper.size();
    std::size_t end = begin;
    while (end < rest.size() && std::isalpha(static_cast<unsigned char>(rest[end])) != 0) ++end;
    unit = "µ";
    unit += rest.substr(begin, end - begin);
    if (end == begin || !is_unit(unit) || (!wrapper.empty() && !rest.substr(end).starts_with('}')))
      continue;
    return end + (wrapper.empty() ? 0 : 1);
  }
  return 0;
}

/// The characters that begin none of the spellings below.
constexpr auto kBeginsNothing = [] {
  std::array<bool, 256> all{};
  for (const char c :
       std::string_view("0123456789+-*/=<>!,|_)[]}bcdefghijlmoquvwxyzBCDEFGHIJKLNOQRSTUVWXYZ"))
    all[static_cast<unsigned char>(c)] = true;
  return all;
}();

}  // namespace

std::string respelt(std::string_view whole) {
  const std::string essence = essential(divided(unaligned(whole)));
  const std::string_view text = essence;
  std::string plain, found;
  for (std::size_t at = 0; at < text.size();) {
    if (kBeginsNothing[static_cast<unsigned char>(text[at])]) {
      plain += text[at++];
      continue;
    }
    const std::string_view rest = text.substr(at);
    const bool is_ascii = static_cast<unsigned char>(rest[0]) < 0x80;
    if (const auto* row = is_ascii ? nullptr : at_start(kSuperscripts, rest)) {
      plain += "^{";
      for (; row != nullptr; row = at_start(kSuperscripts, text.substr(at)))
        plain += row->to, at += row->from.size();
      plain += '}';
    } else if (const std::size_t colon = rest.starts_with("{:}")       ? 3
                                         : rest.starts_with("\\colon") ? 6
                                                                       : 0;
               colon > 0) {
      plain += ':', at += colon;
    } else if (const std::size_t mod = rest[0] == '(' || rest[0] == '\\' ? modulus(rest, found) : 0;
               mod > 0) {
      plain += "\\text{ mod " + found + "}", at += mod;
    } else if (const std::size_t size =
                   is_ascii && rest[0] != '\\' && rest[0] != 'k' && rest[0] != 'M'
                       ? 0
                       : greek_unit(rest, plain, found);
               size > 0) {
      plain += "\\text{ " + found + "}", at += size;
    } else if (const std::size_t hash = rest.starts_with("\\#") ? 2
                                        : rest[0] == '#'        ? 1
                                                                : 0;
               hash > 0 && rest.size() > hash &&
               std::isdigit(static_cast<unsigned char>(rest[hash])) != 0) {
      at += hash;
    } else if (const std::size_t ending = ordinal(plain.empty() ? ' ' : plain.back(), rest);
               ending > 0) {
      at += ending;
    } else if (const auto* character = is_ascii ? nullptr : at_start(kCharacters, rest)) {
      plain += character->to, at += character->from.size();
    } else if (Piece piece = outside_text(rest, plain.empty() ? ' ' : plain.back());
               piece.size > 0) {
      plain += piece.to, at += piece.size;
    } else if ((rest.substr(1).starts_with(".m.") || rest.substr(1).starts_with(".M.") ||
                rest.substr(1) == ".m") &&
               std::string_view("apAP").find(rest[0]) != std::string_view::npos) {
      plain += rest[0], plain += rest[2], at += 4;
    } else if (rest[0] == '.' && ends_in_unit(plain) &&
               (rest.size() == 1 || std::isdigit(static_cast<unsigned char>(rest[1])) == 0)) {
      ++at;
    } else if (const std::size_t shown_not = rest[0] == '\\' ? dropped(rest) : 0; shown_not > 0) {
      plain += ' ', at += shown_not;
    } else {
      plain += rest[0], ++at;
    }
  }
  return plain;
}

}  // namespace rollcall::reward::math
