// The parser's words after a value: units, currencies, and words that change the value.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/units.hpp"
#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>

namespace rollcall::reward::math {
namespace {

/// Whether words name a temperature scale, such as "celsius" in "degrees celsius", which are not
/// degrees of an angle.
bool is_temperature(std::string_view words) {
  for (const std::string_view name : {"celsius", "fahrenheit", "centigrade"})
    if (text::lower(words).starts_with(name)) return true;
  return words == "C" || words == "F";
}

/// Applies the first of the words after a value to it if it changes values: 5 million, 75 percent.
/// Returns false if it does not.
bool apply_word(Node& value, std::string& words) {
  const std::size_t size = words.starts_with("per cent") && !words.starts_with("per cents")
                               ? 8
                               : std::min(words.find(' '), words.size());
  const std::string first = text::lower(words.substr(0, size)),
                    rest(text::trim(std::string_view(words).substr(size)));
  Node& inner = value.kind == Kind::unit ? value.children[0] : value;
  if (first == "percent" || first == "per cent" || first == "pct" || first == "%" || first == "\\%")
    inner = node(Kind::percent, std::move(inner));
  else if (first == "squared" || first == "cubed")
    inner = node(Kind::power, std::move(inner), number(first == "squared" ? 2 : 3));
  else if (first == "factorial") inner = call("factorial", std::move(inner));
  else if (first == "deg" || first == "degrees" || first == "degree")
    inner = is_temperature(rest) ? std::move(inner) : node(Kind::degrees, std::move(inner));
  else if (const auto multiplier = find_multiplier(first))
    inner = node(Kind::multiply, std::move(inner), number(*multiplier));
  else return false;
  words = rest == "C" ? "celsius" : rest == "F" ? "fahrenheit" : rest;
  return true;
}

/// The unit of a value, where "pm" after a number that cannot be an hour is picometers: 500 pm,
/// unlike 5 pm.
std::string without_time(const Node& value, std::string unit) {
  // Up to 59 the number may be an hour or the minutes of a time.
  const bool is_hour =
      value.kind != Kind::number || (value.value->get_den() == 1 && *value.value < 60);
  return unit == "pm" && !is_hour ? "picometers" : unit;
}

/// The content of the group whose brace is at `at`, which is moved past the group. Empty, with `at`
/// unchanged, if there is no group.
std::string_view group_at(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
  const std::size_t end =
      at < text.size() && text[at] == '{' ? group_end(text, at) : std::string_view::npos;
  if (end == std::string_view::npos) return {};
  const std::string_view inside = text.substr(at + 1, end - at - 2);
  at = end;
  return inside;
}

struct UnitFraction {
  std::string unit{};   ///< empty if the fraction is not a unit
  std::size_t end = 0;  ///< byte of the text after it; 0 if the fraction is not a unit
};

/// The unit \frac{\text{m}}{\text{s}^2}, whose command is the current token. Plain letters are
/// units only if Reading::letter_units says so.
UnitFraction unit_fraction(Cursor& in) {
  std::size_t end = in.token().end;
  const std::string top(group_at(in.tokens().text(), end)),
      bottom(group_at(in.tokens().text(), end));
  constexpr std::size_t kLongest = 64;  // bytes of both units together
  if (top.empty() || bottom.empty() || top.size() + bottom.size() > kLongest) return {};
  std::string unit = fmt::format("{}/({})", top, bottom);
  const auto found = find_unit(unit);
  if (!found || !found->counted.empty()) return {};
  if (unit.find("\\text") == std::string::npos && unit.find("\\mathrm") == std::string::npos) {
    in.met.letter_unit = true;
    if (!in.reading().letter_units) return {};
  }
  return {std::move(unit), end};
}

/// Whether the bracket here encloses a unit: (cm).
bool at_bracketed_unit(const Cursor& in) {
  const std::string_view rest = in.tokens().text().substr(in.token().begin);
  const std::size_t close = in.is_sign("(") ? rest.find(')') : std::string_view::npos;
  return close != std::string_view::npos && close > 2 && is_unit(rest.substr(1, close - 1));
}

bool at_unit_word(Cursor& in, bool is_first) {
  if (in.token().kind == TokenKind::words && !is_first &&
      in.token().text == "to") {  // 12 ways to choose
    const std::string behind = unit_word(in, in.next());
    return behind.size() > 1 && !numeral_at(behind);
  }
  if (in.token().kind == TokenKind::words) return at_factor(in);
  if (in.token().kind != TokenKind::letter) return false;
  const std::string word = unit_word(in, in.token());
  return is_first || word.size() > 1 || is_letter_unit(word) || is_unit(word);
}

/// Takes the power of a unit: m^2, m^{-1}, m², and cm2.
void take_unit_power(Cursor& in, std::string& unit) {
  if (in.token().kind == TokenKind::number && !in.token().spaced &&
      (in.token().text == "2" || in.token().text == "3")) {
    unit += '^' + in.token().text;
    return in.advance();
  }
  if (unit.ends_with("mod") && is_integer(in.token())) {
    unit += ' ' + in.token().text;
    return in.advance();
  }
  if (!in.take("^")) return;
  const bool braced = in.take("{");
  unit += '^';
  if (in.take("-")) unit += '-';
  unit += in.token().text;
  in.advance();
  if (braced) in.need("}");
}

}  // namespace

const char* currency_here(const Cursor& in) {
  if (in.is_sign("$")) return "dollars";
  if (in.is_command("euro")) return "euros";
  if (in.is_command("yen")) return "yen";
  return in.is_command("pounds") ? "pounds" : nullptr;
}

Node with_words(Node value, std::string words) {
  while (!words.empty() && apply_word(value, words)) {
  }
  return words.empty() ? std::move(value) : unit_of(std::move(value), words);
}

bool at_unit(Cursor& in, const Node& value) {
  if (currency_here(in) != nullptr) return true;
  if (in.token().kind == TokenKind::words) return at_factor(in);
  if (in.is_command("frac")) return is_number(value) && !unit_fraction(in).unit.empty();
  if (in.is_sign("(")) return is_number(value) && at_bracketed_unit(in);
  if (in.token().kind != TokenKind::letter || !in.token().spaced) return false;
  const std::string_view run = in.tokens().run(in.token().begin);
  if (run == "AM" || run == "PM" || run == "am" || run == "pm") return value.kind == Kind::number;
  if (!is_number(value)) return false;
  // "an" before words, as in "half an hour"
  if (run == "an" && in.tokens().at(in.token().begin + run.size()).kind == TokenKind::words)
    return true;
  if (run.size() > 1)
    // "ab" and the like are products, not attobits
    return is_unit_word(run) ||
           (is_unit(run) &&
            !(run.size() == 2 && std::string_view("afzy").find(run[0]) != std::string_view::npos));
  if (!is_letter_unit(run)) return false;
  in.met.letter_unit = true;
  return in.reading().letter_units;
}

std::string unit_word(const Cursor& in, const Token& token) {
  if (token.kind == TokenKind::words) return token.text;
  const std::string_view run =
      token.kind == TokenKind::letter ? in.tokens().run(token.begin) : std::string_view();
  // \text{m}
  return token.kind == TokenKind::letter && run.empty() ? token.text : std::string(run);
}

bool at_unit_below(Cursor& in, const Node& value) {
  if (!in.is_sign("/") || !is_number(value)) return false;
  const Token behind = in.next();
  const auto unit = behind.kind == TokenKind::words ? find_unit(behind.text) : std::nullopt;
  return unit && !unit->powers.empty() && unit->counted.empty();
}

Node with_unit(Cursor& in, Node value) {
  if (const char* name = currency_here(in)) return in.advance(), unit_of(std::move(value), name);
  if (in.is_command("frac")) {
    UnitFraction fraction = unit_fraction(in);
    in.advance_to(fraction.end);
    return unit_of(std::move(value), std::move(fraction.unit));
  }
  if (in.take("(")) {
    value = with_unit(in, std::move(value));
    in.need(")");
    return value;
  }
  std::string unit;
  for (bool first = true; at_unit_word(in, first); first = false) {
    std::string words = unit_word(in, in.token());
    in.advance_to(in.token().kind == TokenKind::letter
                      ? std::max(in.token().end, in.token().begin + words.size())
                      : in.token().end);
    while (unit.empty() && value.kind != Kind::words && !words.empty() &&
           apply_word(value, words)) {
    }
    if (words.empty()) continue;
    if (unit.empty()) words = without_time(value, std::move(words));
    if (!unit.empty() && unit.back() != '/') unit += ' ';
    unit += words;
    take_unit_power(in, unit);
    const std::string article =
        text::lower(unit).ends_with("of") ? unit_word(in, in.token()) : std::string();
    if (article == "a" || article == "an")
      in.advance_to(in.token().begin + article.size());  // the article of "of a cup"
    take_unit_sign(in, unit);
  }
  if (value.kind != Kind::words)
    return unit.empty() ? std::move(value) : unit_of(std::move(value), unit);
  (value.text += ' ') += text::lower(unit);
  return named_by_words(value.text).value_or(value);
}

void take_unit_sign(Cursor& in, std::string& unit) {
  const bool is_line = in.is_sign("/");
  if (!is_line && !in.is_sign("*") && !in.is_command("cdot") && !in.is_command("times")) return;
  const Token behind = in.next();
  const std::string_view rest = in.tokens().text().substr(behind.begin);
  if (is_line && behind.text == "(") {
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos || !find_unit(rest.substr(1, close - 1))) return;
    unit += '/';
    unit += rest.substr(0, close + 1);
    return in.advance_to(behind.begin + close + 1);
  }
  const std::string word = unit_word(in, behind);
  const auto found = find_unit(word);
  if (word.empty() || !(is_line || (found && found->counted.empty()))) return;
  in.advance();
  if (is_line) unit += '/';
}

Node with_arc(Cursor& in, Node degrees) {
  Node total = std::move(degrees.children[0]);
  while (in.token().kind == TokenKind::number) {
    Node count = parse_decimal(in);
    int marks = 0;
    const bool is_raised = in.is_sign("^");
    if (is_raised) in.advance();
    const bool is_braced = is_raised && in.take("{");
    for (; marks < 2 && (in.is_sign("'") || in.is_command("prime")); ++marks) in.advance();
    if (in.is_sign("\"")) marks = 2, in.advance();
    if (is_braced) in.need("}");
    if (in.token().kind == TokenKind::words && marks == 0) {
      const std::string word = text::lower(in.token().text);
      marks = word.starts_with("min") || word.starts_with("arcmin")   ? 1
              : word.starts_with("sec") || word.starts_with("arcsec") ? 2
                                                                      : 0;
      in.advance();
    }
    if (marks == 0) unreadable("a number behind degrees");
    total = node(Kind::add, std::move(total),
                 node(Kind::divide, std::move(count), number(marks == 1 ? 60 : 3600)));
  }
  return node(Kind::degrees, std::move(total));
}

}  // namespace rollcall::reward::math
