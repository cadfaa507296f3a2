// The parser's numbers of choices, which have more spellings than \binom{5}{2}: C(5,2), {}_5C_2,
// 5C2.
#include "reward/math/parser.hpp"
#include "reward/math/tree.hpp"

namespace rollcall::reward::math {

/// A letter; C(5,2) with its two arguments is one call, which may be a point's name and coordinates
/// as well.
Node Parser::letter() {
  Node name = symbol(token_.text);
  advance();
  if (name.text != "C" || !is_sign("(") || token_.spaced) return name;
  const std::size_t start = token_.begin;
  const std::string_view rest = tokens_.text().substr(start);
  if (rest.substr(0, rest.find(')')).find_first_of(",;") == std::string_view::npos) return name;
  Node inside = bracketed();
  if (inside.kind != Kind::bracketed || inside.children.size() != 2)
    return times(std::move(name), std::move(inside));
  return call("C", std::move(inside.children[0]), std::move(inside.children[1]));
}

/// {}_5C_2 and ^5C_2, at the mark.
Node Parser::prescript() {
  advance();
  Node all = argument(false);
  if (token_.kind != TokenKind::letter || token_.text != "C")
    unreadable("an index before what is no number of choices");
  advance();
  if (!take("_")) unreadable("a number of choices without its second index");
  return call("binomial", std::move(all), argument(false));
}

/// 5C2, behind the 5.
Node Parser::with_infix(Node all) {
  const bool is_c = token_.kind == TokenKind::letter && token_.text == "C" && !token_.spaced;
  if (!is_c || !is_integer(tokens_.at(token_.end)) || tokens_.at(token_.end).spaced) return all;
  advance();
  return call("binomial", std::move(all), primary());
}

}  // namespace rollcall::reward::math
