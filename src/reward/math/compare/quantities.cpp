// The arithmetic and the comparison of numbers with units.
#include "reward/math/compare/quantities.hpp"

#include "reward/math/expression/tree.hpp"

#include <fmt/format.h>

namespace rollcall::reward::math {
namespace {

/// Whether the unit fits any other: a number without a unit, or one in "square units".
bool is_general(const Unit& unit) {
  return (unit.powers.empty() && unit.counted.empty()) || unit.powers.contains("unit");
}

Unit unit_behind(const Node& node) {
  auto unit = find_unit(node.text);
  if (!unit) unreadable("words behind a value that may change it");
  // The value is in degrees, as in degrees per second.
  if (node.children[0].kind == Kind::degrees) unit = unit->times(Unit{{{"angle", 1}}});
  return *unit;
}

/// 1 hour + 30 minutes, in the unit of the first part.
Quantity sum_of_quantities(Values& values, const Node& node) {
  Quantity total = quantity_of(values, node.children[0]);
  for (std::size_t n = 1; n < node.children.size(); ++n) {
    const Quantity part = quantity_of(values, node.children[n]);
    if (total.unit.powers != part.unit.powers || total.unit.counted != part.unit.counted)
      unreadable("a sum of values with other units");
    total.value = values.algebra().add(
        total.value,
        values.algebra().scale(part.value, mpq_class(part.unit.factor / total.unit.factor)));
  }
  return total;
}

}  // namespace

Quantity quantity_of(Values& values, const Node& node) {
  if (!has_unit(node)) return {values.form(node), {}};
  Algebra& algebra = values.algebra();
  switch (node.kind) {
    case Kind::unit:
      if (has_unit(node.children[0])) unreadable("a unit behind another");
      return {values.form(node.children[0]), unit_behind(node)};
    case Kind::negate: {
      Quantity value = quantity_of(values, node.children[0]);
      value.value = negate(value.value);
      return value;
    }
    case Kind::add: return sum_of_quantities(values, node);
    case Kind::multiply:
    case Kind::divide: {
      Quantity all = quantity_of(values, node.children[0]);
      for (std::size_t n = 1; n < node.children.size(); ++n) {
        const bool is_below = node.kind == Kind::divide;
        const Quantity next = quantity_of(values, node.children[n]);
        all.value = is_below ? algebra.divide(all.value, next.value)
                             : algebra.multiply(all.value, next.value);
        all.unit = all.unit.times(next.unit.raised(is_below ? -1 : 1));
      }
      return all;
    }
    default: unreadable("a unit within an expression");
  }
}

Verdict compare_quantities(Values& values, const Node& reference, const Node& answer) {
  const Quantity a = quantity_of(values, reference), b = quantity_of(values, answer);
  if (is_general(a.unit) || is_general(b.unit)) return values.compare(a.value, b.value);
  if (a.unit.powers != b.unit.powers)
    return {Answer::different,
            fmt::format("a unit of {} instead of {}", b.unit.dimension(), a.unit.dimension())};
  if (!may_count_the_same(a.unit, b.unit))
    return {Answer::different,
            fmt::format("{} counted instead of {}", b.unit.dimension(), a.unit.dimension())};
  Algebra& algebra = values.algebra();
  const auto in_base = [&](const Quantity& q) {
    return algebra.add(algebra.scale(q.value, q.unit.factor), constant(q.unit.offset));
  };
  return values.compare(in_base(a), in_base(b));
}

}  // namespace rollcall::reward::math
