// The parser's outermost rules: lists, relations, unions, ratios.
#include "reward/math/parser.hpp"
#include "reward/math/spelling.hpp"
#include "reward/math/tree.hpp"
#include "reward/math/units.hpp"

#include <cctype>

namespace rollcall::reward::math {
namespace {

/// Without what is about equal to a value before it; a name has no other value.
Node exactly(std::vector<Node> sides, std::string signs) {
  const bool is_name =
      sides[0].kind == Kind::words || (sides[0].kind == Kind::symbol && !is_number(sides[0]));
  if (signs.starts_with('~') && is_name) signs[0] = '=';
  if (const std::size_t about = signs.find('~'); about != std::string::npos)
    signs.resize(about), sides.resize(about + 1);
  return signs.empty() ? std::move(sides[0]) : with(Kind::relation, std::move(sides), signs);
}

/// 2 hours and 30 minutes, 1 degree and 30 minutes: a smaller unit of the same kind. None for
/// others.
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

}  // namespace

Parsed Parser::whole() {
  Node root = items();
  if (is_sign(".")) advance();
  if (token_.kind != TokenKind::end)
    unreadable("something that does not belong there: \"" +
               std::string(tokens_.text().substr(token_.begin, 12)) + "\"");
  return {std::move(root), tokens_.saw_thousands(), saw_logarithm_, saw_letter_unit_, saw_period_};
}

bool Parser::at_separator() const {
  return is_sign(",") || is_sign(";") || is_command("and") || is_command("or") ||
         is_command("\\") ||
         (token_.kind == TokenKind::words && (token_.text == "and" || token_.text == "or"));
}

bool Parser::at_close() const {
  return token_.kind == TokenKind::end || is_sign(")") || (is_sign("]") && brackets_ > 0) ||
         is_sign("}") || is_command("}") || is_command("end") || is_sign("&") || is_sign(".");
}

/// One item, or a list of several.
Node Parser::items() {
  Level level(depth_);
  std::vector<Node> all;
  std::string word;
  do {
    for (; at_separator(); advance())
      if (token_.text == "and" || token_.text == "or") word = token_.text;
    if (at_close() && !all.empty()) break;
    all.push_back(relation());
  } while (at_separator());
  if (all.size() == 2 && word == "and")
    if (auto sum = sum_of_units(all[0], all[1])) return std::move(*sum);
  return all.size() == 1 ? std::move(all[0]) : with(Kind::list, std::move(all), std::move(word));
}

char Parser::relation_sign() const {
  if (token_.kind == TokenKind::sign &&
      (token_.text == "=" || token_.text == "<" || token_.text == ">"))
    return token_.text[0];
  if (is_sign("!") && tokens_.text().substr(token_.end).starts_with('=')) return '!';
  if (token_.kind != TokenKind::command) return 0;
  constexpr std::pair<std::string_view, char> kSigns[] = {
      {"le", 'l'},     {"ge", 'g'},    {"ne", '!'},   {"in", 'i'},
      {"approx", '~'}, {"equiv", '='}, {"doteq", '='}};
  for (const auto& [name, sign] : kSigns)
    if (token_.text == name) return sign;
  return 0;
}

Node Parser::relation() {
  std::vector<Node> sides;
  std::string signs;
  if (relation_sign() == '=' || relation_sign() == '~') advance();  // "= 5"
  sides.push_back(join());
  while (const char sign = relation_sign()) {
    const bool two = is_sign("!");
    advance();
    if (two || ((sign == '<' || sign == '>' || sign == '=') && is_sign("="))) {
      signs += sign == '<' ? 'l' : sign == '>' ? 'g' : sign;
      advance();
    } else {
      signs += sign;
    }
    sides.push_back(join());
  }
  return exactly(std::move(sides), std::move(signs));
}

/// 1:2:3, 2 to 3, 8:05; and "Total: 12", which names a value.
Node Parser::ratio() {
  Node first = sum();
  const auto take_colon = [&] { return take(":") || take_words("to"); };
  if (in_condition_ || !(is_sign(":") || is_words("to"))) return first;
  // no hour, as in "noon 12:30"
  const bool is_label =
      first.kind == Kind::words && std::isdigit(static_cast<unsigned char>(first.text.back())) == 0;
  if (is_label && take(":")) return exactly({std::move(first), join()}, "=");
  bool is_clock = first.kind == Kind::number && first.value->get_den() == 1;
  std::string minutes;
  std::vector<Node> parts;
  parts.push_back(std::move(first));
  while (take_colon()) {
    minutes = token_.text;
    is_clock &= is_integer(token_) && minutes.size() == 2 && parts.size() == 1;
    parts.push_back(sum());
  }
  const bool last_is_unit = parts.back().kind == Kind::unit;  // 8:30 PM
  return with(Kind::ratio, std::move(parts),
              !is_clock                           ? ""
              : minutes[0] == '0' || last_is_unit ? "clock"
                                                  : "either");
}

Node Parser::join() {
  std::vector<Node> parts;
  parts.push_back(ratio());
  std::string operators;
  const auto at_join = [&]() -> char {
    const bool is_set = parts.back().kind == Kind::bracketed || parts.back().kind == Kind::set;
    if (is_command("cup") || (is_set && token_.kind == TokenKind::letter && token_.text == "U"))
      return 'u';
    return is_command("cap") ? 'n' : is_command("setminus") ? '-' : 0;
  };
  while (const char sign = at_join()) advance(), operators += sign, parts.push_back(sum());
  return parts.size() == 1 ? std::move(parts[0])
                           : with(Kind::join, std::move(parts), std::move(operators));
}

Parsed parse_answer(std::string_view text, const Reading& reading) {
  const std::string plain = respelt(text);
  return Parser(plain, reading).whole();
}

}  // namespace rollcall::reward::math
