// Lists, sets, tuples, matrices, words, and numbers with units.
#include "reward/math/comparison.hpp"
#include "reward/math/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward::math {
namespace {

constexpr const char* kKinds = "an expression of another kind";

/// The items of a list, with both values of each plus-minus.
std::vector<Node> spread(const Node& node) {
  std::vector<Node> items;
  const auto take = [&](const Node& item) {
    const Node& value = item.kind == Kind::relation && item.text == "=" && item.children[1].kind == Kind::plus_minus ? item.children[1] : item;
    if (value.kind != Kind::plus_minus) {
      items.push_back(item);
      return;
    }
    for (const bool negative : {false, true}) {
      const Node& moving = value.children.back();
      Node signed_part = negative ? Node{Kind::negate, {}, {}, {moving}} : moving;
      items.push_back(value.children.size() == 1 ? std::move(signed_part) : Node{Kind::add, {}, {}, {value.children[0], std::move(signed_part)}});
    }
  };
  if (node.kind == Kind::list || node.kind == Kind::set) {
    for (const Node& item : node.children) take(item);
  } else {
    take(node);
  }
  return items;
}

bool has_several(const Node& node) {
  if (node.kind == Kind::list || node.kind == Kind::set || node.kind == Kind::plus_minus) return true;
  return node.kind == Kind::relation && node.text == "=" && node.children[1].kind == Kind::plus_minus;
}

bool is_structure(const Node& node) { return node.kind == Kind::bracketed || node.kind == Kind::matrix || node.kind == Kind::join || has_several(node); }

bool says_nothing(const Node& node) {
  constexpr std::string_view kNothing[] = {"none", "no solution", "no solutions", "empty set", "no real solution", "no real solutions", "the empty set"};
  return (node.kind == Kind::set && node.children.empty()) ||
         (node.kind == Kind::words && std::find(std::begin(kNothing), std::end(kNothing), node.text) != std::end(kNothing));
}

}  // namespace

int infinity_of(const Node& node) {
  if (node.kind == Kind::infinity) return 1;
  return node.kind == Kind::negate && node.children[0].kind == Kind::infinity ? -1 : 0;
}

Verdict Comparison::compare(const Node& reference, const Node& answer) {
  if (says_nothing(reference) && says_nothing(answer)) return {Answer::equal, "both say that there is nothing"};
  if (reference.kind == Kind::words || answer.kind == Kind::words) return words(reference, answer);
  const bool both_relations = reference.kind == Kind::relation && answer.kind == Kind::relation;
  if (both_relations && !is_region(reference) && !is_region(answer) && !has_several(reference) && !has_several(answer)) return relations(reference, answer);
  const Node &a = has_several(reference) ? reference : value_of(reference), &b = has_several(answer) ? answer : value_of(answer);
  if (is_region(a) || is_region(b)) {
    const auto left = region(a), right = region(b);
    if (left && right) return regions(*left, *right);
    if (both_relations && reference.text.size() == answer.text.size()) return relations(reference, answer);
    const bool is_unsolved = (is_region(a) && !left && a.kind == Kind::relation) || (is_region(b) && !right && b.kind == Kind::relation);
    return is_unsolved ? Verdict{Answer::undecided, "inequalities that are not linear are not solved"} : Verdict{Answer::different, kKinds};
  }
  for (const auto& [equation, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool is_one = equation->kind == Kind::relation && equation->text == "=" && !has_several(*equation) &&
                        (other->kind != Kind::relation || has_several(*other)) && other->kind != Kind::matrix;
    if (is_one &&
        values_.algebra().variables_of(values_.algebra().subtract(values_.form(equation->children[0]), values_.form(equation->children[1]))).size() == 1)
      return {Answer::undecided, "equations are not solved"};
  }
  if (a.kind == Kind::matrix || b.kind == Kind::matrix) return matrices(a, b);
  if (a.kind == Kind::bracketed && b.kind == Kind::bracketed) return in_order(a.children, b.children);
  if (has_several(a) || has_several(b)) return lists(a, b);
  if (is_structure(a) || is_structure(b) || a.kind == Kind::relation || b.kind == Kind::relation) return {Answer::different, kKinds};
  return scalars(a, b);
}

Verdict Comparison::words(const Node& a, const Node& b) {
  if (a.kind != b.kind) return {Answer::different, "words and no words"};
  return a.text == b.text ? Verdict{Answer::equal, "the same words"} : Verdict{Answer::different, "other words"};
}

/// A list that is written with commas alone may stand for a tuple; otherwise order does not count.
Verdict Comparison::lists(const Node& a, const Node& b) {
  if (a.kind == Kind::bracketed && b.kind == Kind::list) return in_order(a.children, b.children);
  if (b.kind == Kind::bracketed && a.kind == Kind::list) return in_order(a.children, b.children);
  if (is_structure(a) && !has_several(a)) return {Answer::different, kKinds};
  if (is_structure(b) && !has_several(b)) return {Answer::different, kKinds};
  return unordered(spread(a), spread(b), a.kind != Kind::set && b.kind != Kind::set);
}

Verdict Comparison::in_order(const std::vector<Node>& a, const std::vector<Node>& b) {
  if (a.size() != b.size()) return {Answer::different, fmt::format("{} parts instead of {}", b.size(), a.size())};
  Verdict all{Answer::equal, "all parts are equal"};
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Verdict part = compare(a[n], b[n]);
    if (part.answer == Answer::different) return {Answer::different, fmt::format("part {}: {}", n + 1, part.reason)};
    if (part.answer == Answer::undecided) all = {Answer::undecided, fmt::format("part {}: {}", n + 1, part.reason)};
  }
  return all;
}

Verdict Comparison::unordered(const std::vector<Node>& a, const std::vector<Node>& b, bool repetitions_count) {
  if (a.size() > kMostItems || b.size() > kMostItems) exhausted("more items than are compared without order");
  if (repetitions_count && a.size() != b.size()) return {Answer::different, fmt::format("{} items instead of {}", b.size(), a.size())};
  std::vector<bool> is_matched(b.size(), false);
  bool undecided = false;
  for (std::size_t n = 0; n < a.size(); ++n) {
    bool found = false, open = false;
    for (std::size_t m = 0; m < b.size() && !found; ++m) {
      if (repetitions_count && is_matched[m]) continue;
      const Answer answer = compare(a[n], b[m]).answer;
      found = answer == Answer::equal;
      open |= answer == Answer::undecided;
      if (found) is_matched[m] = true;
    }
    if (!found && !open) return {Answer::different, fmt::format("item {} of the reference is missing", n + 1)};
    undecided |= !found;
  }
  for (std::size_t m = 0; m < b.size() && !repetitions_count; ++m) {
    if (is_matched[m]) continue;
    bool found = false;
    for (std::size_t n = 0; n < a.size() && !found; ++n) {
      const Answer answer = compare(a[n], b[m]).answer;
      found = answer == Answer::equal;
      undecided |= answer == Answer::undecided;
    }
    if (!found && !undecided) return {Answer::different, fmt::format("item {} is none of the reference", m + 1)};
  }
  return undecided ? Verdict{Answer::undecided, "some items are not decided"} : Verdict{Answer::equal, "the same items"};
}

/// A column or a row may be written as a tuple.
Verdict Comparison::matrices(const Node& a, const Node& b) {
  const auto columns = [](const Node& m) { return m.kind == Kind::matrix ? std::size_t(m.value->get_num().get_ui()) : 0; };
  const auto is_line = [&](const Node& m) { return m.kind == Kind::bracketed || columns(m) == 1 || columns(m) == m.children.size(); };
  const auto is_either = [](const Node& m) { return m.kind == Kind::matrix || m.kind == Kind::bracketed; };
  if (!is_either(a) || !is_either(b)) {
    const bool single = (a.kind == Kind::matrix ? a : b).children.size() == 1 && !is_structure(a.kind == Kind::matrix ? b : a);
    if (!single) return {Answer::different, "a matrix and none"};
    return a.kind == Kind::matrix ? compare(a.children[0], b) : compare(a, b.children[0]);
  }
  if (columns(a) != columns(b) && !(columns(a) * columns(b) == 0 && is_line(a) && is_line(b))) return {Answer::different, "a matrix of another shape"};
  return in_order(a.children, b.children);
}

/// Percents, degrees and units may be left out on one side; where both have them they count.
Verdict Comparison::scalars(const Node& a, const Node& b) {
  if (infinity_of(a) != 0 || infinity_of(b) != 0) {
    const bool equal = infinity_of(a) == infinity_of(b);
    return {equal ? Answer::equal : Answer::different, equal ? "the same infinity" : "an infinite and another value"};
  }
  const auto is_marked = [](const Node& n) { return n.kind == Kind::percent || n.kind == Kind::degrees || n.kind == Kind::unit; };
  if (is_marked(a) && is_marked(b)) {
    const auto u = a.kind == Kind::unit ? find_unit(a.text) : std::nullopt, v = b.kind == Kind::unit ? find_unit(b.text) : std::nullopt;
    if (u && v) {
      if (u->dimension != v->dimension) return {Answer::different, fmt::format("a unit of {} instead of {}", v->dimension, u->dimension)};
      return values_.compare(values_.algebra().scale(values_.form(a), u->factor), values_.algebra().scale(values_.form(b), v->factor));
    }
    return a.kind == b.kind ? scalars(a.children[0], b.children[0]) : values_.compare(values_.form(a), values_.form(b));
  }
  Verdict verdict = values_.compare(values_.form(a), values_.form(b));
  if (verdict.answer != Answer::equal && is_marked(a)) verdict = values_.compare(values_.form(a.children[0]), values_.form(b));
  if (verdict.answer != Answer::equal && is_marked(b)) verdict = values_.compare(values_.form(a), values_.form(b.children[0]));
  return verdict;
}

}  // namespace rollcall::reward::math
