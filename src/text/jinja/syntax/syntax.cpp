// Builds nodes of the tree and keeps their height within its limit.
#include "text/jinja/syntax/syntax.hpp"

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

/// A chain such as a + b + c is a tree as high as it is long. Python's compiler also stops at a few
/// hundred levels.
constexpr int kTreeHeight = 600;

void set_above(Expression& e, const ExpressionPtr& part) {
  if (part) e.height = std::max(e.height, 1 + part->height);
}

void check_height(const Expression& e) {
  if (e.height > kTreeHeight)
    throw Fault{FaultKind::limit, "an expression of too many parts", e.place};
}

}  // namespace

ExpressionPtr make_expression(ExpressionKind kind, const Place& place,
                              std::vector<ExpressionPtr> parts) {
  auto e = std::make_unique<Expression>(Expression{kind, place});
  for (const auto& part : parts) set_above(*e, part);
  check_height(*e);
  e->parts = std::move(parts);
  return e;
}

void include_arguments(Expression& e) {
  for (const auto& part : e.arguments->positional) set_above(e, part);
  for (const auto& [name, part] : e.arguments->named) set_above(e, part);
  set_above(e, e.arguments->more);
  set_above(e, e.arguments->more_named);
  check_height(e);
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  return parts;
}

std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b) {
  std::vector<ExpressionPtr> parts = parts_of(std::move(a));
  parts.push_back(std::move(b));
  return parts;
}

}  // namespace rollcall::text::jinja
