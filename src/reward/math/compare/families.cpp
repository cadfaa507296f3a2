// Compares families of values by their members near zero.
#include "reward/math/compare/families.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/labels.hpp"
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/structures.hpp"
#include "reward/math/expression/tree.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::reward::math {
namespace {

constexpr int kTried = 3;  // values on either side of zero that are taken from one formula
constexpr std::size_t kMostComparisons = 8192;
// values of the other formula, on either side of zero, that are searched for them
constexpr int kSearched = 24;

/// A formula with a parameter that is any integer.
struct Family {
  Node formula;
  std::string parameter, domain;  ///< "Z" or "N"
};

std::optional<Family> family_of(const Node& node) {
  if (node.kind != Kind::list) return std::nullopt;
  const Node& condition = node.children.back();
  if (condition.kind != Kind::relation || condition.text != "i" ||
      condition.children[0].kind != Kind::symbol)
    return std::nullopt;
  const Node& domain = condition.children[1];
  if (domain.kind != Kind::symbol || (domain.text != "Z" && domain.text != "N"))
    return std::nullopt;
  Node formula = node;
  formula.children.pop_back();
  if (formula.children.size() == 1) formula = Node(value_of(formula.children[0]));
  if (!mentions(formula, condition.children[0].text)) return std::nullopt;
  return Family{std::move(formula), condition.children[0].text, domain.text};
}

/// Reads a formula that does not state its parameter as a family like `other`: its only name is the
/// parameter, and the domain is that of `other`. Nothing if it has no name or several.
std::optional<Family> like(const Family& other, const Node& node) {
  const Node& formula = value_of(node);
  const auto names = names_of(formula);
  return names.size() == 1 ? std::optional(Family{formula, *names.begin(), other.domain})
                           : std::nullopt;
}

std::vector<Node> values_at(const Family& family, long n) {
  std::vector<Node> values;
  for (const Node& item : spread(with_value(family.formula, family.parameter, number(n))))
    values.push_back(value_of(item));
  return values;
}

std::vector<Node> values_near_zero(const Family& family, int n) {
  std::vector<Node> all;
  // The first natural number is 0 or 1, so the value at 0 is not required.
  const bool is_natural = family.domain == "N";
  for (int k = is_natural ? (n == kTried ? 1 : 0) : -n; k <= (is_natural ? 2 * n : n); ++k)
    for (Node& value : values_at(family, k)) all.push_back(std::move(value));
  return all;
}

bool has_all_values(Values& values, const Family& of, const Family& in) {
  const auto searched = values_near_zero(of, kSearched);
  const auto tried = values_near_zero(in, kTried);
  if (searched.size() * tried.size() > kMostComparisons)
    exhausted("more formulas with a parameter than are compared");
  return std::all_of(tried.begin(), tried.end(), [&](const Node& value) {
    return std::any_of(searched.begin(), searched.end(), [&](const Node& other) {
      return compare(values, other, value).answer == Answer::equal;
    });
  });
}

}  // namespace

std::optional<Verdict> compare_families(Values& values, const Node& reference, const Node& answer) {
  auto a = family_of(reference), b = family_of(answer);
  if (!a && !b) return std::nullopt;
  if (!a) a = like(*b, reference);
  if (!b) b = like(*a, answer);
  if (!a)
    return has_names(reference) ? compare(values, reference, b->formula)
                                : Verdict{Answer::different, "a formula with a parameter"};
  if (!b) return Verdict{Answer::different, "a formula with a parameter, and another thing"};
  const bool is_renamed = b->parameter != a->parameter && !mentions(b->formula, a->parameter);
  const Node formula =
      is_renamed ? with_value(b->formula, b->parameter, symbol(a->parameter)) : b->formula;
  if (a->domain == b->domain && (is_renamed || b->parameter == a->parameter) &&
      compare(values, a->formula, formula).answer == Answer::equal)
    return Verdict{Answer::equal, "the same formula"};
  auto names = names_of(a->formula);
  names.merge(names_of(b->formula));
  const bool is_constant = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == a->parameter || name == b->parameter;
  });
  if (is_constant && has_all_values(values, *a, *b) && has_all_values(values, *b, *a))
    return Verdict{Answer::equal, "formulas with the same values"};
  return Verdict{Answer::different, "a formula with other values"};
}

}  // namespace rollcall::reward::math
