// Compares matrices, and multiplies their cells by numbers.
#include "reward/math/compare/matrices.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/lists.hpp"
#include "reward/math/expression/structures.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::reward::math {

Verdict compare_matrices(Values& values, const Node& a, const Node& b) {
  const auto columns = [](const Node& m) {
    return m.kind == Kind::matrix ? std::size_t(m.value->get_num().get_ui()) : 0;
  };
  const auto is_line = [&](const Node& m) {
    return m.kind == Kind::bracketed || columns(m) == 1 || columns(m) == m.children.size();
  };
  const auto is_either = [](const Node& m) {
    return m.kind == Kind::matrix || m.kind == Kind::bracketed;
  };
  if (!is_either(a) || !is_either(b)) {
    const bool single = (a.kind == Kind::matrix ? a : b).children.size() == 1 &&
                        !is_structure(a.kind == Kind::matrix ? b : a);
    if (!single) return {Answer::different, "a matrix and none"};
    return a.kind == Kind::matrix ? compare(values, a.children[0], b)
                                  : compare(values, a, b.children[0]);
  }
  if (columns(a) != columns(b) && !(columns(a) * columns(b) == 0 && is_line(a) && is_line(b)))
    return {Answer::different, "a matrix of another shape"};
  return compare_in_order(values, a.children, b.children);
}

std::optional<Node> scaled_matrix(const Node& node) {
  const auto is_matrix = [](const Node& n) { return n.kind == Kind::matrix; };
  const bool is_product = node.kind == Kind::multiply || node.kind == Kind::negate ||
                          (node.kind == Kind::divide && is_matrix(node.children[0]));
  if (!is_product || std::count_if(node.children.begin(), node.children.end(), is_matrix) != 1)
    return std::nullopt;
  const auto at = std::find_if(node.children.begin(), node.children.end(), is_matrix);
  Node matrix = *at;
  for (Node& cell : matrix.children) {
    Node scaled = node;
    scaled.children[std::size_t(at - node.children.begin())] = std::move(cell);
    cell = std::move(scaled);
  }
  return matrix;
}

}  // namespace rollcall::reward::math
