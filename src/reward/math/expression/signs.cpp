// Replaces a plus-minus by either sign.
#include "reward/math/expression/signs.hpp"

#include "reward/math/limits.hpp"

#include <algorithm>

namespace rollcall::reward::math {
namespace {

bool is_arithmetic(const Node& node) {
  constexpr Kind kKinds[] = {Kind::add,     Kind::multiply, Kind::divide,     Kind::negate,
                             Kind::power,   Kind::call,     Kind::plus_minus, Kind::percent,
                             Kind::degrees, Kind::unit};
  return std::find(std::begin(kKinds), std::end(kKinds), node.kind) != std::end(kKinds);
}

int count_signs(const Node& node) {
  if (!is_arithmetic(node)) return 0;
  int count = node.kind == Kind::plus_minus ? 1 : 0;
  for (const Node& child : node.children) count += count_signs(child);
  return count;
}

/// The expression with the upper sign, or with the lower one.
Node with_sign(const Node& node, bool upper) {
  Node result = node;
  for (Node& child : result.children) child = with_sign(child, upper);
  if (node.kind != Kind::plus_minus) return result;
  Node moving = std::move(result.children.back());
  if (upper != (node.text == "pm")) moving = {Kind::negate, {}, {}, {std::move(moving)}};
  if (result.children.size() == 1) return moving;
  return {Kind::add, {}, {}, {std::move(result.children[0]), std::move(moving)}};
}

}  // namespace

bool has_two_signs(const Node& node) { return count_signs(node) > 0; }

std::vector<Node> both_signs(const Node& node) {
  if (count_signs(node) > 1) unsupported("more than one plus-minus");
  return {with_sign(node, true), with_sign(node, false)};
}

}  // namespace rollcall::reward::math
