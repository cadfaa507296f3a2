// Chooses the comparison by the kinds of both expressions; words, ratios and single values are
// compared here.
#include "reward/math/compare/compare.hpp"

#include "reward/math/compare/clock.hpp"
#include "reward/math/compare/families.hpp"
#include "reward/math/compare/labels.hpp"
#include "reward/math/compare/lists.hpp"
#include "reward/math/compare/matrices.hpp"
#include "reward/math/compare/quantities.hpp"
#include "reward/math/compare/regions.hpp"
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/signs.hpp"
#include "reward/math/expression/structures.hpp"
#include "reward/math/expression/tree.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace rollcall::reward::math {
namespace {

/// Whether the node is a chain of equations: 2 + 3 = 5, or x = 2 + 3 = 5.
bool is_chain(const Node& node) {
  return node.kind == Kind::relation && node.text.find_first_not_of('=') == std::string::npos &&
         !has_two_signs(node.children.back());
}

bool says_nothing(const Node& node) {
  if (node.kind != Kind::words) return node.kind == Kind::set && node.children.empty();
  std::string_view words = node.text;
  for (const std::string_view opening : {"there are ", "there is ", "the ", "an "})
    if (words.starts_with(opening)) words.remove_prefix(opening.size());
  for (const std::string_view ending : {" exists", " exist"})
    if (words.ends_with(ending)) words.remove_suffix(ending.size());
  constexpr std::string_view kNothing[] = {
      "none",         "no solution",      "no solutions",      "empty set",
      "null set",     "no real solution", "no real solutions", "no roots",
      "no real roots"};
  return std::find(std::begin(kNothing), std::end(kNothing), words) != std::end(kNothing);
}

Verdict compare_words(const Node& a, const Node& b) {
  const auto are_words = [](const Node& n) {  // "a circle" reads as a value with a unit
    return n.kind == Kind::words || (n.kind == Kind::unit && n.children[0].kind == Kind::symbol &&
                                     n.children[0].text == "a");
  };
  if (!are_words(a) || !are_words(b)) return {Answer::different, "words and no words"};
  const auto plain = [](const Node& n) {
    for (const std::string_view article : {"the ", "an ", "a "})
      if (n.text.starts_with(article)) return n.text.substr(article.size());
    return n.text == "dne" ? "does not exist" : n.text;
  };
  return plain(a) == plain(b) ? Verdict{Answer::equal, "the same words"}
                              : Verdict{Answer::different, "other words"};
}

/// Ratios are equal if their parts are proportional; a ratio of two parts may also be written as a
/// quotient. If the reference may be a time of day, it is not certain that it is a ratio, and equal
/// ratios are left open.
Verdict compare_ratios(Values& values, const Node& a, const Node& b) {
  const auto is_clock = [](const Node& n) { return n.text == "clock"; };
  if (a.kind != b.kind) {
    const Node& ratio = a.kind == Kind::ratio ? a : b;
    if (ratio.children.size() != 2 || is_clock(ratio)) return {Answer::different, kOtherKind};
    const Verdict verdict = values.compare(values.form(a), values.form(b));
    return verdict.answer == Answer::equal && &ratio == &a && !a.text.empty()
               ? left_open(Open::clock)
               : verdict;
  }
  if (is_clock(a) || is_clock(b)) return compare_in_order(values, a.children, b.children);
  if (a.children.size() != b.children.size()) return {Answer::different, "a ratio of other parts"};
  const bool is_same = compare_in_order(values, a.children, b.children).answer == Answer::equal;
  if (is_same) return {Answer::equal, "the same ratio"};
  const Form first_a = values.form(a.children[0]), first_b = values.form(b.children[0]);
  if (values.is_not_zero(first_a).answer != Answer::equal ||
      values.is_not_zero(first_b).answer != Answer::equal)
    return {Answer::different, "a ratio that begins with zero"};
  for (std::size_t n = 1; n < a.children.size(); ++n) {
    Algebra& algebra = values.algebra();
    Verdict part = values.compare(algebra.multiply(values.form(a.children[n]), first_b),
                                  algebra.multiply(values.form(b.children[n]), first_a));
    if (part.answer != Answer::equal) return part;
  }
  return a.text.empty() || b.text.empty() ? Verdict{Answer::equal, "the same ratio"}
                                          : left_open(Open::clock);
}

/// Percent signs and degree signs may be left out on one side; if both sides have them, they count.
Verdict compare_scalars(Values& values, const Node& a, const Node& b) {
  if (a.kind == Kind::number && b.kind == Kind::number) return compare_numbers(*a.value, *b.value);
  if (infinity_of(a) != 0 || infinity_of(b) != 0) {
    const bool equal = infinity_of(a) == infinity_of(b);
    return {equal ? Answer::equal : Answer::different,
            equal ? "the same infinity" : "an infinite and another value"};
  }
  if (mpz_class digits; a.kind == Kind::based && b.kind == Kind::number &&
                        digits.set_str(a.text, 10) == 0 && b.value == mpq_class(digits))
    return {Answer::equal, "the digits without their base, which the question states"};
  const auto is_marked = [](const Node& n) {
    return n.kind == Kind::percent || n.kind == Kind::degrees;
  };
  if (is_marked(a) && is_marked(b))
    return a.kind == b.kind ? compare_scalars(values, a.children[0], b.children[0])
                            : values.compare(values.form(a), values.form(b));
  Verdict verdict = compare_quantities(values, a, b);
  // If either side has a unit, a percent or degree sign may not be left out.
  const bool has_unit = a.kind == Kind::unit || b.kind == Kind::unit;
  if (verdict.answer != Answer::equal && is_marked(a) && !has_unit)
    verdict = compare_quantities(values, a.children[0], b);
  if (verdict.answer != Answer::equal && is_marked(b) && !has_unit)
    verdict = compare_quantities(values, a, b.children[0]);
  return verdict;
}

}  // namespace

Verdict compare(Values& values, const Node& reference, const Node& answer) {
  if (says_nothing(reference) && says_nothing(answer))
    return {Answer::equal, "both say that there is nothing"};
  if (auto verdict = compare_clocks(reference, answer)) return *verdict;
  if (reference.kind == Kind::words || answer.kind == Kind::words)
    return compare_words(reference, answer);
  if (auto verdict = compare_families(values, reference, answer)) return *verdict;
  if (reference.kind == Kind::bracketed)
    if (const auto point = point_of(answer)) return compare(values, reference, *point);
  if (reference.kind == Kind::multiply)
    if (const auto point = point_of(reference)) return compare(values, *point, answer);
  if (is_chain(answer))
    if (Verdict holds = chain_holds(values, answer); holds.answer != Answer::equal) return holds;
  const bool both_relations = reference.kind == Kind::relation && answer.kind == Kind::relation;
  if (both_relations && !is_region(reference) && !is_region(answer) && !has_several(reference) &&
      !has_several(answer))
    return compare_relations(values, reference, answer);
  if (!is_region(reference) && !is_region(answer))
    if (auto verdict = compare_equation_and_value(values, reference, answer)) return *verdict;
  const Node &a = has_several(reference) ? reference : value_of(reference),
             &b = has_several(answer) ? answer : value_of(answer);
  const auto is_scalar = [](const Node& n) { return n.kind < Kind::ratio; };
  if (a.kind == Kind::list && b.kind == Kind::join &&
      std::all_of(a.children.begin(), a.children.end(), is_scalar))
    return compare(values, with(Kind::set, a.children), b);
  if (is_region(a) || is_region(b)) {
    std::string name_a, name_b;
    const auto left = region_of(values, a, name_a), right = region_of(values, b, name_b);
    if (left && right && !name_a.empty() && !name_b.empty() && name_a != name_b)
      return {Answer::different, "another variable"};
    if (left && right) return compare_regions(values, *left, *right);
    const bool is_unsolved = is_region(a) && !left && a.kind == Kind::relation;
    if (both_relations && reference.text.size() == answer.text.size()) {
      Verdict verdict = compare_relations(values, reference, answer);
      if (verdict.answer != Answer::different || !is_unsolved || !right) return verdict;
    }
    if (is_unsolved && names_of(a).size() == 1 && (right || is_region(b)))
      return left_open(Open::inequality);
    return {Answer::different, is_region(b) && !right && b.kind == Kind::relation
                                   ? "an inequality that is not solved"
                                   : kOtherKind};
  }
  if (const auto scaled_a = scaled_matrix(a), scaled_b = scaled_matrix(b); scaled_a || scaled_b)
    return compare(values, scaled_a.value_or(a), scaled_b.value_or(b));
  if (a.kind == Kind::matrix && b.kind == Kind::bracketed)
    if (const auto rows = matrix_of_rows(b)) return compare_matrices(values, a, *rows);
  if (a.kind == Kind::matrix || b.kind == Kind::matrix) return compare_matrices(values, a, b);
  if (a.kind == Kind::bracketed && b.kind == Kind::bracketed)
    return compare_in_order(values, a.children, b.children);
  if (has_several(a) || has_several(b)) return compare_lists(values, a, b);
  if (is_structure(a) || is_structure(b) || a.kind == Kind::relation || b.kind == Kind::relation)
    return {Answer::different, kOtherKind};
  return a.kind == Kind::ratio || b.kind == Kind::ratio ? compare_ratios(values, a, b)
                                                        : compare_scalars(values, a, b);
}

}  // namespace rollcall::reward::math
