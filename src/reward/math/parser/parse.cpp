// The parser's outermost rules: lists, relations, unions, ratios.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"
#include "reward/math/parser/spelling.hpp"
#include "reward/math/parser/units.hpp"

#include <cctype>

namespace rollcall::reward::math {
namespace {

Node parse_join(Cursor& in);

/// A relation without the approximate values after an exact one. If the first side is a name, its
/// approximate value is taken as its value.
Node exactly(std::vector<Node> sides, std::string signs) {
  const bool is_name =
      sides[0].kind == Kind::words || (sides[0].kind == Kind::symbol && !is_number(sides[0]));
  if (signs.starts_with('~') && is_name) signs[0] = '=';
  if (const std::size_t about = signs.find('~'); about != std::string::npos)
    signs.resize(about), sides.resize(about + 1);
  return signs.empty() ? std::move(sides[0]) : with(Kind::relation, std::move(sides), signs);
}

/// The sum of a quantity and one in a smaller unit of the same dimension: 2 hours and 30 minutes, 1
/// degree and 30 minutes. Nothing for other items.
std::optional<Node> sum_of_units(const Node& first, const Node& second) {
  const auto small = second.kind == Kind::unit ? find_unit(second.text) : std::nullopt;
  if (!small) return std::nullopt;
  if (first.kind == Kind::degrees && small->powers == find_unit("minutes")->powers &&
      small->factor <= 60)
    return node(
        Kind::add, first,
        node(Kind::degrees,
             node(Kind::divide, node(Kind::multiply, second.children[0], number(small->factor)),
                  number(3600))));
  const auto large = first.kind == Kind::unit ? find_unit(first.text) : std::nullopt;
  return large && large->powers == small->powers && large->counted.empty() &&
                 large->factor > small->factor
             ? std::optional(node(Kind::add, first, second))
             : std::nullopt;
}

bool at_separator(const Cursor& in) {
  return in.is_sign(",") || in.is_sign(";") || in.is_command("and") || in.is_command("or") ||
         in.is_command("\\") ||
         (in.token().kind == TokenKind::words &&
          (in.token().text == "and" || in.token().text == "or"));
}

bool at_close(const Cursor& in) {
  return in.token().kind == TokenKind::end || in.is_sign(")") ||
         (in.is_sign("]") && in.enclosure.brackets > 0) || in.is_sign("}") || in.is_command("}") ||
         in.is_command("end") || in.is_sign("&") || in.is_sign(".");
}

/// Reads 1:2:3, 2 to 3 and 8:05; also "Total: 12", which names a value.
Node parse_ratio(Cursor& in) {
  Node first = parse_sum(in);
  const auto take_colon = [&] { return in.take(":") || in.take_words("to"); };
  if (in.enclosure.in_condition || !(in.is_sign(":") || in.is_words("to"))) return first;
  // Words that end in a digit, as in "noon 12:30", end in an hour and are not a label.
  const bool is_label =
      first.kind == Kind::words && std::isdigit(static_cast<unsigned char>(first.text.back())) == 0;
  if (is_label && in.take(":")) return exactly({std::move(first), parse_join(in)}, "=");
  bool is_clock = first.kind == Kind::number && first.value->get_den() == 1;
  std::string minutes;
  std::vector<Node> parts;
  parts.push_back(std::move(first));
  while (take_colon()) {
    minutes = in.token().text;
    is_clock &= is_integer(in.token()) && minutes.size() == 2 && parts.size() == 1;
    parts.push_back(parse_sum(in));
  }
  const bool last_is_unit = parts.back().kind == Kind::unit;  // 8:30 PM
  return with(Kind::ratio, std::move(parts),
              !is_clock                           ? ""
              : minutes[0] == '0' || last_is_unit ? "clock"
                                                  : "either");
}

Node parse_join(Cursor& in) {
  std::vector<Node> parts;
  parts.push_back(parse_ratio(in));
  std::string operators;
  const auto at_join = [&]() -> char {
    const bool is_set = parts.back().kind == Kind::bracketed || parts.back().kind == Kind::set;
    if (in.is_command("cup") ||
        (is_set && in.token().kind == TokenKind::letter && in.token().text == "U"))
      return 'u';
    return in.is_command("cap") ? 'n' : in.is_command("setminus") ? '-' : 0;
  };
  while (const char sign = at_join())
    in.advance(), operators += sign, parts.push_back(parse_sum(in));
  return parts.size() == 1 ? std::move(parts[0])
                           : with(Kind::join, std::move(parts), std::move(operators));
}

}  // namespace

Node parse_items(Cursor& in) {
  const Level level(in);
  std::vector<Node> all;
  std::string word;
  do {
    for (; at_separator(in); in.advance())
      if (in.token().text == "and" || in.token().text == "or") word = in.token().text;
    if (at_close(in) && !all.empty()) break;
    all.push_back(parse_relation(in));
  } while (at_separator(in));
  if (all.size() == 2 && word == "and")
    if (auto sum = sum_of_units(all[0], all[1])) return std::move(*sum);
  return all.size() == 1 ? std::move(all[0]) : with(Kind::list, std::move(all), std::move(word));
}

char relation_sign(const Cursor& in) {
  if (in.token().kind == TokenKind::sign &&
      (in.token().text == "=" || in.token().text == "<" || in.token().text == ">"))
    return in.token().text[0];
  if (in.is_sign("!") && in.tokens().text().substr(in.token().end).starts_with('=')) return '!';
  if (in.token().kind != TokenKind::command) return 0;
  constexpr std::pair<std::string_view, char> kSigns[] = {
      {"le", 'l'},     {"ge", 'g'},    {"ne", '!'},   {"in", 'i'},
      {"approx", '~'}, {"equiv", '='}, {"doteq", '='}};
  for (const auto& [name, sign] : kSigns)
    if (in.token().text == name) return sign;
  return 0;
}

Node parse_relation(Cursor& in) {
  std::vector<Node> sides;
  std::string signs;
  if (relation_sign(in) == '=' || relation_sign(in) == '~') in.advance();  // "= 5"
  sides.push_back(parse_join(in));
  while (const char sign = relation_sign(in)) {
    const bool two = in.is_sign("!");
    in.advance();
    if (two || ((sign == '<' || sign == '>' || sign == '=') && in.is_sign("="))) {
      signs += sign == '<' ? 'l' : sign == '>' ? 'g' : sign;
      in.advance();
    } else {
      signs += sign;
    }
    sides.push_back(parse_join(in));
  }
  return exactly(std::move(sides), std::move(signs));
}

Parsed parse_answer(std::string_view text, const Reading& reading) {
  const std::string plain = respelt(text);
  Cursor in(plain, reading);
  Node root = parse_items(in);
  if (in.is_sign(".")) in.advance();
  if (in.token().kind != TokenKind::end)
    unreadable("something that does not belong there: \"" +
               std::string(in.tokens().text().substr(in.token().begin, 12)) + "\"");
  return {std::move(root), in.tokens().saw_thousands(), in.met.logarithm, in.met.letter_unit,
          in.met.period};
}

}  // namespace rollcall::reward::math
