// Recognises structures by the kinds of their nodes.
#include "reward/math/expression/structures.hpp"

#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/signs.hpp"
#include "reward/math/expression/tree.hpp"

#include <utility>

namespace rollcall::reward::math {

bool has_several(const Node& node) {
  return node.kind == Kind::list || node.kind == Kind::set || has_two_signs(node) ||
         (node.kind == Kind::relation && has_two_signs(value_of(node)));
}

bool is_structure(const Node& node) {
  return node.kind == Kind::bracketed || node.kind == Kind::matrix || node.kind == Kind::join ||
         has_several(node);
}

std::optional<Node> point_of(const Node& node) {
  if (node.kind == Kind::call && node.text == "C")
    return with(Kind::bracketed, node.children, "()");
  const bool is_named = node.kind == Kind::multiply && node.children.size() == 2 &&
                        node.children[0].kind == Kind::symbol &&
                        node.children[0].text.size() == 1 && node.children[0].text[0] <= 'Z';
  return is_named && node.children[1].kind == Kind::bracketed ? std::optional(node.children[1])
                                                              : std::nullopt;
}

std::vector<Node> spread(const Node& node) {
  std::vector<Node> items;
  const auto take = [&](const Node& item) {
    const Node& value = value_of(item);
    if (!has_two_signs(value)) return items.push_back(item);
    for (Node& one : both_signs(value)) items.push_back(std::move(one));
  };
  if (node.kind == Kind::list || node.kind == Kind::set) {
    for (const Node& item : node.children) take(item);
  } else {
    take(node);
  }
  return items;
}

int infinity_of(const Node& node) {
  if (node.kind == Kind::infinity) return 1;
  return node.kind == Kind::negate && node.children[0].kind == Kind::infinity ? -1 : 0;
}

}  // namespace rollcall::reward::math
