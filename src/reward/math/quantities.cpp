// Numbers with units behind them: their arithmetic and their comparison.
#include "reward/math/comparison.hpp"
#include "reward/math/tree.hpp"

#include <fmt/format.h>

namespace rollcall::reward::math {

/// 1 hour + 30 minutes: in the units of the first part.
Quantity Comparison::sum(const Node& node) {
  Quantity total = quantity(node.children[0]);
  for (std::size_t n = 1; n < node.children.size(); ++n) {
    const Quantity part = quantity(node.children[n]);
    const bool is_same_kind = total.unit && part.unit && total.unit->powers == part.unit->powers;
    if (!is_same_kind && (total.words != part.words || total.words.empty())) unreadable("a sum of values with other units");
    const mpq_class ratio = is_same_kind ? mpq_class(part.unit->factor / total.unit->factor) : mpq_class(1);
    total.value = values_.algebra().add(total.value, values_.algebra().scale(part.value, ratio));
  }
  return total;
}

Quantity Comparison::quantity(const Node& node) {
  if (!has_unit(node)) return {values_.form(node), {}, Unit{}};
  Algebra& algebra = values_.algebra();
  switch (node.kind) {
    case Kind::unit:
      if (has_unit(node.children[0])) unreadable("a unit behind another");
      return {values_.form(node.children[0]), node.text, find_unit(node.text)};
    case Kind::negate: {
      Quantity value = quantity(node.children[0]);
      value.value = algebra.negate(value.value);
      return value;
    }
    case Kind::add: return sum(node);
    case Kind::multiply:
    case Kind::divide: {
      Quantity all = quantity(node.children[0]);
      for (std::size_t n = 1; n < node.children.size(); ++n) {
        const bool below = node.kind == Kind::divide;
        const Quantity next = quantity(node.children[n]);
        if ((!all.unit && !next.words.empty()) || (!next.unit && !all.words.empty()) || (!next.unit && below))
          unreadable("units that are not known, multiplied");
        all.value = below ? algebra.divide(all.value, next.value) : algebra.multiply(all.value, next.value);
        all.unit = all.unit && next.unit ? std::optional(all.unit->times(next.unit->raised(below ? -1 : 1))) : std::nullopt;
        all.words += next.words;
      }
      return all;
    }
    default: unreadable("a unit within an expression");
  }
}

/// A unit may be left out on one side; where both have one it counts. Unknown words behind a value are no unit: they may say that it is another.
Verdict Comparison::quantities(const Node& reference, const Node& answer) {
  const Quantity a = quantity(reference), b = quantity(answer);
  const auto is_general = [](const Quantity& q) { return q.unit && (q.unit->powers.empty() || q.unit->powers.contains("unit")); };  // "square units"
  if (a.unit && b.unit && !is_general(a) && !is_general(b)) {
    if (a.unit->powers != b.unit->powers) return {Answer::different, fmt::format("a unit of {} instead of {}", b.unit->dimension(), a.unit->dimension())};
    return values_.compare(values_.algebra().scale(a.value, a.unit->factor), values_.algebra().scale(b.value, b.unit->factor));
  }
  Verdict verdict = values_.compare(a.value, b.value);
  if (verdict.answer == Answer::equal && !b.unit && a.words != b.words) return {Answer::undecided, "words behind the value that are no known unit"};
  if (verdict.answer == Answer::equal && !a.unit && !b.words.empty() && a.words != b.words) return {Answer::undecided, "other words behind the same value"};
  return verdict;
}

}  // namespace rollcall::reward::math
