// The parser's words behind a value: units, currencies, and words that change the value.
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"
#include "reward/math/units.hpp"
#include "text/prose.hpp"

namespace rollcall::reward::math {
namespace {

/// What is left of the words once their first one is applied to the value.
std::string applied(Node& value, const std::string& words) {
  const std::string first = words.substr(0, words.find(' ')), rest = first.size() < words.size() ? words.substr(first.size() + 1) : "";
  Node& inner = value.kind == Kind::unit ? value.children[0] : value;
  Node changed;
  if (first == "percent") changed = node(Kind::percent, std::move(inner));
  else if (first == "squared" || first == "cubed") changed = node(Kind::power, std::move(inner), number(first == "squared" ? 2 : 3));
  else if (first == "factorial") changed = call("factorial", std::move(inner));
  else if (first == "deg" || first == "degrees" || first == "degree") changed = node(Kind::degrees, std::move(inner));
  else if (const auto multiplier = find_multiplier(first)) changed = node(Kind::multiply, std::move(inner), number(*multiplier));
  else return words;
  inner = std::move(changed);
  return rest;
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
Node Parser::with_words(Node value, const std::string& words) {
  const std::string unit = applied(value, words);
  return unit.empty() ? std::move(value) : unit_of(std::move(value), unit);
}

/// Words behind a value, a currency, and the letters that are units with a space before them.
bool Parser::at_unit(const Node& value) {
  if (currency() != nullptr) return true;
  if (token_.kind == TokenKind::words) return at_factor();
  if (token_.kind != TokenKind::letter || !token_.spaced) return false;
  const std::string_view run = tokens_.run(token_.begin);
  if (run == "AM" || run == "PM" || run == "am" || run == "pm") return value.kind == Kind::number;
  if (!is_number(value)) return false;
  if (run.size() > 1) return find_unit(run).has_value();
  if (!is_letter_unit(run)) return false;
  saw_letter_unit_ = true;
  return reading_.letter_units;
}

/// The words behind a value, with what belongs to them: cm^2, square units, km/h. Words that change the value are applied: 5 million, 75 percent.
Node Parser::with_unit(Node value) {
  if (const char* name = currency()) return advance(), unit_of(std::move(value), name);
  std::string unit;
  for (bool first = true; at_unit_word(first); first = false) {
    std::string words = text::lower(token_.kind == TokenKind::words ? token_.text : std::string(tokens_.run(token_.begin)));
    advance_to(token_.kind == TokenKind::words ? token_.end : token_.begin + words.size());
    if (first && value.kind != Kind::words) words = applied(value, words);
    if (words.empty()) continue;
    if (!unit.empty() && unit.back() != '/') unit += ' ';
    unit += words;
    take_unit_power(unit);
    if (unit.ends_with("of") && token_.kind == TokenKind::letter && token_.text == "a") advance();  // of a cup
    const TokenKind behind = is_sign("/") ? tokens_.at(token_.end).kind : TokenKind::end;
    if (behind == TokenKind::words || behind == TokenKind::letter) advance(), unit += '/';
  }
  if (value.kind != Kind::words) return unit.empty() ? std::move(value) : unit_of(std::move(value), unit);
  value.text += " " + unit;
  return value.text == "all real numbers" || value.text == "all reals" ? symbol("R") : std::move(value);
}

bool Parser::at_unit_word(bool is_first) const {
  if (token_.kind == TokenKind::words) return at_factor();
  if (token_.kind != TokenKind::letter) return false;
  const std::string_view run = tokens_.run(token_.begin);
  return is_first || is_letter_unit(run) || is_unit_word(run);
}

/// m^2, m^{-1}, m².
void Parser::take_unit_power(std::string& unit) {
  if (!take("^")) return;
  const bool braced = take("{");
  unit += '^';
  if (take("-")) unit += '-';
  unit += token_.text;
  advance();
  if (braced) need("}");
}

}  // namespace rollcall::reward::math
