// Short functions that build trees of expressions and ask about them.
#pragma once

#include "reward/math/expression/expression.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::reward::math {

inline Node with(Kind kind, std::vector<Node> children, std::string text = {}) {
  return {kind, std::move(text), {}, std::move(children)};
}
template <class... Nodes>
inline Node node(Kind kind, Nodes... children) {
  Node made{kind};
  (made.children.push_back(std::move(children)), ...);
  return made;
}
/// A product as one node, so that long products are not deep trees.
inline Node times(Node left, Node right) {
  if (left.kind != Kind::multiply) return node(Kind::multiply, std::move(left), std::move(right));
  left.children.push_back(std::move(right));
  return left;
}
template <class... Nodes>
inline Node call(std::string name, Nodes... arguments) {
  Node made = node(Kind::call, std::move(arguments)...);
  made.text = std::move(name);
  return made;
}
inline Node number(mpq_class value) { return {Kind::number, {}, std::move(value), {}}; }
inline Node symbol(std::string name) { return {Kind::symbol, std::move(name), {}, {}}; }

inline Node unit_of(Node value, std::string words) {
  if (value.kind == Kind::unit) return value.text += " " + words, std::move(value);
  Node made = node(Kind::unit, std::move(value));
  made.text = std::move(words);
  return made;
}

/// A power. An exponent T transposes a matrix, and C_5^2 is a binomial.
Node raised(Node base, Node exponent);
/// The binomial C^2_5, where `base` is the part without its index; nothing for any other
/// expression.
std::optional<Node> choices(const Node& base, const std::string& index);
/// [[1,2],[3,4]] as a matrix; nothing for any other expression.
std::optional<Node> matrix_of_rows(const Node& node);
bool mentions(const Node& node, const std::string& name);
/// The expression with a value, or another name, in place of a variable.
Node with_value(Node node, const std::string& name, const Node& value);

inline bool has_unit(const Node& node) {
  return node.kind == Kind::unit ||
         (node.kind <= Kind::degrees &&
          std::any_of(node.children.begin(), node.children.end(), has_unit));
}
/// Whether the expression contains no variable.
inline bool is_number(const Node& node) {
  if (node.kind == Kind::symbol) return node.text == "pi" || node.text == "e" || node.text == "i";
  return std::all_of(node.children.begin(), node.children.end(), is_number);
}

}  // namespace rollcall::reward::math
