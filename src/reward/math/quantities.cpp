// Numbers with units behind them: their arithmetic and their comparison.
#include "reward/math/comparison.hpp"
#include "reward/math/tree.hpp"

#include <fmt/format.h>

namespace rollcall::reward::math {
namespace {

/// A number without a unit, or in "square units".
bool is_general(const Unit& unit) {
  return (unit.powers.empty() && unit.counted.empty()) || unit.powers.contains("unit");
}

Unit unit_behind(const Node& node) {
  auto unit = find_unit(node.text);
  if (!unit) unreadable("words behind a value that may change it");
  // degrees per second
  if (node.children[0].kind == Kind::degrees) unit = unit->times(Unit{{{"angle", 1}}});
  return *unit;
}

}  // namespace

/// 1 hour + 30 minutes: in the units of the first part.
Quantity Comparison::sum(const Node& node) {
  Quantity total = quantity(node.children[0]);
  for (std::size_t n = 1; n < node.children.size(); ++n) {
    const Quantity part = quantity(node.children[n]);
    if (total.unit.powers != part.unit.powers || total.unit.counted != part.unit.counted)
      unreadable("a sum of values with other units");
    total.value = values_.algebra().add(
        total.value,
        values_.algebra().scale(part.value, mpq_class(part.unit.factor / total.unit.factor)));
  }
  return total;
}

Quantity Comparison::quantity(const Node& node) {
  if (!has_unit(node)) return {values_.form(node), {}};
  Algebra& algebra = values_.algebra();
  switch (node.kind) {
    case Kind::unit:
      if (has_unit(node.children[0])) unreadable("a unit behind another");
      return {values_.form(node.children[0]), unit_behind(node)};
    case Kind::negate: {
      Quantity value = quantity(node.children[0]);
      value.value = negate(value.value);
      return value;
    }
    case Kind::add: return sum(node);
    case Kind::multiply:
    case Kind::divide: {
      Quantity all = quantity(node.children[0]);
      for (std::size_t n = 1; n < node.children.size(); ++n) {
        const bool is_below = node.kind == Kind::divide;
        const Quantity next = quantity(node.children[n]);
        all.value = is_below ? algebra.divide(all.value, next.value)
                             : algebra.multiply(all.value, next.value);
        all.unit = all.unit.times(next.unit.raised(is_below ? -1 : 1));
      }
      return all;
    }
    default: unreadable("a unit within an expression");
  }
}

/// A unit may be left out on one side; where both have one it counts, and so does what is counted.
Verdict Comparison::quantities(const Node& reference, const Node& answer) {
  const Quantity a = quantity(reference), b = quantity(answer);
  if (is_general(a.unit) || is_general(b.unit)) return values_.compare(a.value, b.value);
  if (a.unit.powers != b.unit.powers)
    return {Answer::different,
            fmt::format("a unit of {} instead of {}", b.unit.dimension(), a.unit.dimension())};
  if (!may_count_the_same(a.unit, b.unit))
    return {Answer::different,
            fmt::format("{} counted instead of {}", b.unit.dimension(), a.unit.dimension())};
  Algebra& algebra = values_.algebra();
  const auto in_base = [&](const Quantity& q) {
    return algebra.add(algebra.scale(q.value, q.unit.factor), constant(q.unit.offset));
  };
  return values_.compare(in_base(a), in_base(b));
}

}  // namespace rollcall::reward::math
