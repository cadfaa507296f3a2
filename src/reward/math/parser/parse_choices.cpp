// The parser's binomials that are not written \binom{5}{2}: C(5,2), {}_5C_2, 5C2.
#include "reward/math/expression/tree.hpp"
#include "reward/math/parser/grammar.hpp"

namespace rollcall::reward::math {
Node parse_letter(Cursor& in) {
  Node name = symbol(in.token().text);
  in.advance();
  if (name.text != "C" || !in.is_sign("(") || in.token().spaced) return name;
  const std::size_t start = in.token().begin;
  const std::string_view rest = in.tokens().text().substr(start);
  if (rest.substr(0, rest.find(')')).find_first_of(",;") == std::string_view::npos) return name;
  Node inside = parse_bracketed(in);
  if (inside.kind != Kind::bracketed || inside.children.size() != 2)
    return times(std::move(name), std::move(inside));
  return call("C", std::move(inside.children[0]), std::move(inside.children[1]));
}

Node parse_prescript(Cursor& in) {
  in.advance();
  Node all = parse_argument(in, false);
  if (in.token().kind != TokenKind::letter || in.token().text != "C")
    unreadable("an index before what is no number of choices");
  in.advance();
  if (!in.take("_")) unreadable("a number of choices without its second index");
  return call("binomial", std::move(all), parse_argument(in, false));
}

Node with_infix_choices(Cursor& in, Node all) {
  const bool is_c =
      in.token().kind == TokenKind::letter && in.token().text == "C" && !in.token().spaced;
  if (!is_c || !is_integer(in.next()) || in.next().spaced) return all;
  in.advance();
  return call("binomial", std::move(all), parse_primary(in));
}

}  // namespace rollcall::reward::math
