// The functions on trees that take more than a line.
#include "reward/math/expression/tree.hpp"

namespace rollcall::reward::math {
namespace {

bool is_natural(const Node& node) {
  return node.kind == Kind::number && node.value->get_den() == 1 && *node.value >= 0;
}

/// The binomial C_5^2, whose numbers may be in either place: the larger one is the number of things
/// to choose from.
Node binomial(Node a, Node b) {
  if (*a.value < *b.value) std::swap(a, b);
  return call("binomial", std::move(a), std::move(b));
}

std::optional<Node> digits(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return number(mpq_class(text));
}

Node transposed(Node node) {
  if (auto rows = matrix_of_rows(node)) node = std::move(*rows);
  // A tuple is a row or a column, and is compared with either, so it stays as it is.
  if (node.kind == Kind::bracketed) return node.text = "()", node;
  const std::size_t columns = node.value->get_num().get_ui(), rows = node.children.size() / columns;
  Node turned = with(Kind::matrix, {});
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t row = 0; row < rows; ++row)
      turned.children.push_back(std::move(node.children[row * columns + column]));
  turned.value = mpq_class(static_cast<unsigned long>(rows));
  return turned;
}

}  // namespace

Node raised(Node base, Node exponent) {
  const bool is_transposition = exponent.kind == Kind::symbol && exponent.text == "T";
  if (is_transposition && (base.kind == Kind::matrix || base.kind == Kind::bracketed))
    return transposed(std::move(base));
  if (base.kind == Kind::symbol && base.text.starts_with("C_") && is_natural(exponent))
    if (auto index = digits(base.text.substr(2)))
      return binomial(std::move(*index), std::move(exponent));
  return node(Kind::power, std::move(base), std::move(exponent));
}

std::optional<Node> choices(const Node& base, const std::string& index) {
  const bool is_c = base.kind == Kind::power && base.children[0].kind == Kind::symbol &&
                    base.children[0].text == "C" && is_natural(base.children[1]);
  auto other = digits(index);
  return is_c && other ? std::optional(binomial(base.children[1], std::move(*other)))
                       : std::nullopt;
}

std::optional<Node> matrix_of_rows(const Node& node) {
  const auto is_row = [&](const Node& row) {
    return row.kind == Kind::bracketed && row.children.size() == node.children[0].children.size();
  };
  if (node.kind != Kind::bracketed ||
      !std::all_of(node.children.begin(), node.children.end(), is_row))
    return std::nullopt;
  Node matrix = with(Kind::matrix, {});
  for (const Node& row : node.children)
    matrix.children.insert(matrix.children.end(), row.children.begin(), row.children.end());
  matrix.value = mpq_class(static_cast<unsigned long>(node.children[0].children.size()));
  return matrix;
}

bool mentions(const Node& node, const std::string& name) {
  if (node.kind == Kind::symbol && node.text == name) return true;
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const Node& child) { return mentions(child, name); });
}

Node with_value(Node node, const std::string& name, const Node& value) {
  if (node.kind == Kind::symbol && node.text == name) return value;
  for (Node& child : node.children) child = with_value(std::move(child), name, value);
  return node;
}

}  // namespace rollcall::reward::math
