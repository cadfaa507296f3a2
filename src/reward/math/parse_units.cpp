// The parser's words behind a value: units, currencies, and words that change the value.
#include "reward/math/numerals.hpp"
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"
#include "reward/math/units.hpp"
#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>

namespace rollcall::reward::math {
namespace {

/// "celsius" in "degrees celsius", which are no degrees of an angle.
bool is_temperature(std::string_view words) {
  for (const std::string_view name : {"celsius", "fahrenheit", "centigrade"})
    if (text::lower(words).starts_with(name)) return true;
  return words == "C" || words == "F";
}

/// Applies the first of the words behind a value to it, if it changes values: 5 million, 75
/// percent. False if it does not.
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

/// 500 pm are picometers, 5 pm is a time of day.
std::string without_time(const Node& value, std::string unit) {
  // or its minutes
  const bool is_hour =
      value.kind != Kind::number || (value.value->get_den() == 1 && *value.value < 60);
  return unit == "pm" && !is_hour ? "picometers" : unit;
}

/// Between the braces at `at` and without the braces; empty, and `at` unchanged, where there is no
/// group.
std::string_view group_at(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
  const std::size_t end =
      at < text.size() && text[at] == '{' ? group_end(text, at) : std::string_view::npos;
  if (end == std::string_view::npos) return {};
  const std::string_view inside = text.substr(at + 1, end - at - 2);
  at = end;
  return inside;
}

}  // namespace

/// The currency whose sign stands here; none: nullptr.
const char* Parser::currency() const {
  if (is_sign("$")) return "dollars";
  if (is_command("euro")) return "euros";
  if (is_command("yen")) return "yen";
  return is_command("pounds") ? "pounds" : nullptr;
}

/// A value with words behind it, the first of which may change it.
Node Parser::with_words(Node value, std::string words) {
  while (!words.empty() && apply_word(value, words)) {
  }
  return words.empty() ? std::move(value) : unit_of(std::move(value), words);
}

/// Words behind a value, a currency, and the letters that are units with a space before them.
bool Parser::at_unit(const Node& value) {
  if (currency() != nullptr) return true;
  if (token_.kind == TokenKind::words) return at_factor();
  if (is_command("frac")) return is_number(value) && !unit_fraction().empty();
  if (is_sign("(")) return is_number(value) && at_bracketed_unit();
  if (token_.kind != TokenKind::letter || !token_.spaced) return false;
  const std::string_view run = tokens_.run(token_.begin);
  if (run == "AM" || run == "PM" || run == "am" || run == "pm") return value.kind == Kind::number;
  if (!is_number(value)) return false;
  // half an hour
  if (run == "an" && tokens_.at(token_.begin + run.size()).kind == TokenKind::words) return true;
  if (run.size() > 1)
    // ab is no attobit
    return is_unit_word(run) ||
           (is_unit(run) &&
            !(run.size() == 2 && std::string_view("afzy").find(run[0]) != std::string_view::npos));
  if (!is_letter_unit(run)) return false;
  saw_letter_unit_ = true;
  return reading_.letter_units;
}

/// \frac{\text{m}}{\text{s}^2}, at the command: its unit; empty for other fractions. Plain letters
/// are units in the reading of letters alone.
std::string Parser::unit_fraction() {
  std::size_t at = token_.end;
  const std::string top(group_at(tokens_.text(), at)), bottom(group_at(tokens_.text(), at));
  constexpr std::size_t kLongest = 64;  // bytes of units
  if (top.empty() || bottom.empty() || top.size() + bottom.size() > kLongest) return {};
  std::string unit = fmt::format("{}/({})", top, bottom);
  const auto found = find_unit(unit);
  if (!found || !found->counted.empty()) return {};
  if (unit.find("\\text") == std::string::npos && unit.find("\\mathrm") == std::string::npos) {
    saw_letter_unit_ = true;
    if (!reading_.letter_units) return {};
  }
  unit_fraction_end_ = at;
  return unit;
}

/// What a token says as a word of a unit: words, or the run of letters that begins there; empty for
/// other tokens.
std::string Parser::unit_word(const Token& token) const {
  if (token.kind == TokenKind::words) return token.text;
  const std::string_view run =
      token.kind == TokenKind::letter ? tokens_.run(token.begin) : std::string_view();
  // \text{m}
  return token.kind == TokenKind::letter && run.empty() ? token.text : std::string(run);
}

/// 5/\text{s}, at the line: a unit below it.
bool Parser::at_unit_below(const Node& value) {
  if (!is_sign("/") || !is_number(value)) return false;
  const Token behind = tokens_.at(token_.end);
  const auto unit = behind.kind == TokenKind::words ? find_unit(behind.text) : std::nullopt;
  return unit && !unit->powers.empty() && unit->counted.empty();
}

/// (cm), at the bracket: a unit in brackets behind a value.
bool Parser::at_bracketed_unit() const {
  const std::string_view rest = tokens_.text().substr(token_.begin);
  const std::size_t close = is_sign("(") ? rest.find(')') : std::string_view::npos;
  return close != std::string_view::npos && close > 2 && is_unit(rest.substr(1, close - 1));
}

/// The words behind a value, with what belongs to them: cm^2, square units, km/h, N\cdot m. Words
/// that change the value are applied: 5 million, 75 percent.
Node Parser::with_unit(Node value) {
  if (const char* name = currency()) return advance(), unit_of(std::move(value), name);
  if (is_command("frac")) {
    std::string unit = unit_fraction();
    advance_to(unit_fraction_end_);
    return unit_of(std::move(value), unit);
  }
  if (take("(")) {
    value = with_unit(std::move(value));
    need(")");
    return value;
  }
  std::string unit;
  for (bool first = true; at_unit_word(first); first = false) {
    std::string words = unit_word(token_);
    advance_to(token_.kind == TokenKind::letter ? std::max(token_.end, token_.begin + words.size())
                                                : token_.end);
    while (unit.empty() && value.kind != Kind::words && !words.empty() &&
           apply_word(value, words)) {
    }
    if (words.empty()) continue;
    if (unit.empty()) words = without_time(value, std::move(words));
    if (!unit.empty() && unit.back() != '/') unit += ' ';
    unit += words;
    take_unit_power(unit);
    const std::string article =
        text::lower(unit).ends_with("of") ? unit_word(token_) : std::string();
    if (article == "a" || article == "an") advance_to(token_.begin + article.size());  // of a cup
    take_unit_sign(unit);
  }
  if (value.kind != Kind::words)
    return unit.empty() ? std::move(value) : unit_of(std::move(value), unit);
  (value.text += ' ') += text::lower(unit);
  return named_by_words(value.text).value_or(value);
}

bool Parser::at_unit_word(bool is_first) {
  if (token_.kind == TokenKind::words && !is_first && token_.text == "to") {  // 12 ways to choose
    const std::string behind = unit_word(tokens_.at(token_.end));
    return behind.size() > 1 && !numeral_at(behind);
  }
  if (token_.kind == TokenKind::words) return at_factor();
  if (token_.kind != TokenKind::letter) return false;
  const std::string word = unit_word(token_);
  return is_first || word.size() > 1 || is_letter_unit(word) || is_unit(word);
}

/// m^2, m^{-1}, m², and cm2.
void Parser::take_unit_power(std::string& unit) {
  if (token_.kind == TokenKind::number && !token_.spaced &&
      (token_.text == "2" || token_.text == "3")) {
    unit += '^' + token_.text;
    return advance();
  }
  if (unit.ends_with("mod") && is_integer(token_)) {
    unit += ' ' + token_.text;
    return advance();
  }
  if (!take("^")) return;
  const bool braced = take("{");
  unit += '^';
  if (take("-")) unit += '-';
  unit += token_.text;
  advance();
  if (braced) need("}");
}

/// What joins two units: m/s, J/(kg K), N\cdot m.
void Parser::take_unit_sign(std::string& unit) {
  const bool is_line = is_sign("/");
  if (!is_line && !is_sign("*") && !is_command("cdot") && !is_command("times")) return;
  const Token behind = tokens_.at(token_.end);
  const std::string_view rest = tokens_.text().substr(behind.begin);
  if (is_line && behind.text == "(") {
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos || !find_unit(rest.substr(1, close - 1))) return;
    unit += '/';
    unit += rest.substr(0, close + 1);
    return advance_to(behind.begin + close + 1);
  }
  const std::string word = unit_word(behind);
  const auto found = find_unit(word);
  if (word.empty() || !(is_line || (found && found->counted.empty()))) return;
  advance();
  if (is_line) unit += '/';
}

/// 1^\circ 30' 15'', at the number behind the degrees: minutes and seconds of arc. Nothing else may
/// follow degrees.
Node Parser::with_arc(Node degrees) {
  Node total = std::move(degrees.children[0]);
  while (token_.kind == TokenKind::number) {
    Node count = decimal();
    int marks = 0;
    const bool is_raised = is_sign("^");
    if (is_raised) advance();
    const bool is_braced = is_raised && take("{");
    for (; marks < 2 && (is_sign("'") || is_command("prime")); ++marks) advance();
    if (is_sign("\"")) marks = 2, advance();
    if (is_braced) need("}");
    if (token_.kind == TokenKind::words && marks == 0) {
      const std::string word = text::lower(token_.text);
      marks = word.starts_with("min") || word.starts_with("arcmin")   ? 1
              : word.starts_with("sec") || word.starts_with("arcsec") ? 2
                                                                      : 0;
      advance();
    }
    if (marks == 0) unreadable("a number behind degrees");
    total = node(Kind::add, std::move(total),
                 node(Kind::divide, std::move(count), number(marks == 1 ? 60 : 3600)));
  }
  return node(Kind::degrees, std::move(total));
}

}  // namespace rollcall::reward::math
