// Formulas with a parameter that is any integer: \frac{\pi}{4} + k\pi, k \in \mathbb{Z}.
#include "reward/math/comparison.hpp"
#include "reward/math/tree.hpp"

namespace rollcall::reward::math {
namespace {

struct Family {
  Node formula;
  std::string parameter, domain;
};

std::optional<Family> family_of(const Node& node) {
  if (node.kind != Kind::list) return std::nullopt;
  const Node& condition = node.children.back();
  if (condition.kind != Kind::relation || condition.text != "i" || condition.children[0].kind != Kind::symbol) return std::nullopt;
  const Node& domain = condition.children[1];
  if (domain.kind != Kind::symbol || (domain.text != "Z" && domain.text != "N")) return std::nullopt;
  Node formula = node;
  formula.children.pop_back();
  if (formula.children.size() == 1) formula = Node(formula.children[0]);
  if (!mentions(formula, condition.children[0].text)) return std::nullopt;
  return Family{std::move(formula), condition.children[0].text, domain.text};
}

}  // namespace

/// The parameter's name is free. Other formulas may give the same values, which is not decided.
std::optional<Verdict> Comparison::families(const Node& reference, const Node& answer) {
  const auto a = family_of(reference), b = family_of(answer);
  if (!a && !b) return std::nullopt;
  if (!a) return compare(reference, b->formula);
  if (!b && !has_names(answer)) return Verdict{Answer::different, "a value, and a formula with a parameter"};
  if (!b && mentions(answer, a->parameter)) return compare(a->formula, answer);
  if (!b) return Verdict{Answer::undecided, "a formula, and one with a parameter"};
  if (b->parameter != a->parameter && mentions(b->formula, a->parameter)) return Verdict{Answer::undecided, "formulas with several parameters"};
  const Verdict verdict = compare(a->formula, renamed(b->formula, b->parameter, a->parameter));
  if (verdict.answer == Answer::equal && a->domain == b->domain) return verdict;
  return Verdict{Answer::undecided, "formulas with a parameter, which may give the same values"};
}

}  // namespace rollcall::reward::math
