// Solves inequalities for their regions, and intersects, sorts and compares regions.
#include "reward/math/compare/regions.hpp"

#include "reward/math/algebra/powers.hpp"
#include "reward/math/compare/labels.hpp"
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/structures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::reward::math {
namespace {

bool is_inequality(const Node& node) {
  return node.kind == Kind::relation && !node.text.empty() &&
         node.text.find_first_not_of("<>lg!") == std::string::npos;
}

char mirrored(char sign) {
  return sign == '<' ? '>' : sign == '>' ? '<' : sign == 'l' ? 'g' : sign == 'g' ? 'l' : sign;
}

/// The solutions of an inequality that is linear in its variable: x < a, 2x + 1 > 5.
std::optional<Stretch> half_line_of(Values& values, const Node& left, char sign, const Node& right,
                                    std::string& variable) {
  const auto line = coefficients_of(values, left, right, variable);
  if (!line || line->size() != 2) return std::nullopt;
  const auto direction = values.sign((*line)[1]);
  if (!direction || *direction == 0) return std::nullopt;
  const Form bound = negate(values.algebra().divide((*line)[0], (*line)[1]));
  if (*direction < 0) sign = mirrored(sign);
  const bool is_open = sign == '<' || sign == '>';
  return sign == '<' || sign == 'l' ? Stretch{std::nullopt, bound, true, is_open}
                                    : Stretch{bound, std::nullopt, is_open, true};
}

/// The solutions of a quadratic inequality, from the roots: x^2 - 2x < 3.
std::optional<Region> region_of_quadratic(Values& values, const Node& left, char sign,
                                          const Node& right, std::string& variable) {
  const auto curve = coefficients_of(values, left, right, variable);
  if (!curve || curve->size() != 3) return std::nullopt;
  Algebra& algebra = values.algebra();
  const Form &c = (*curve)[0], &b = (*curve)[1], &a = (*curve)[2];
  const Form discriminant =
      algebra.subtract(algebra.multiply(b, b), algebra.scale(algebra.multiply(a, c), 4));
  const auto direction = values.sign(a), roots = values.sign(discriminant);
  if (!direction || *direction == 0 || !roots) return std::nullopt;
  if (*direction < 0) sign = mirrored(sign);
  const bool is_within = sign == '<' || sign == 'l',
             is_open = sign == '<' || sign == '>' || sign == '!';
  if (*roots < 0) return is_within ? Region{} : Region{{}};  // the curve is above zero everywhere
  const Form root = power(algebra, discriminant, {{{{}, mpq_class(1, 2)}}, {{{}, 1}}}),
             twice = algebra.scale(a, *direction * 2), middle = algebra.scale(b, -*direction);
  const Form low = algebra.divide(algebra.subtract(middle, root), twice),
             high = algebra.divide(algebra.add(middle, root), twice);
  if (is_within && *roots == 0 && is_open) return Region{};
  if (is_within) return Region{{low, high, is_open, is_open}};
  return Region{{std::nullopt, low, true, is_open}, {high, std::nullopt, is_open, true}};
}

/// Whether a > b, or with `or_equal` whether a >= b. Throws NoVerdict if that is not decided.
bool is_after(Values& values, const Form& a, const Form& b, bool or_equal) {
  const auto sign = values.sign(values.algebra().subtract(a, b));
  if (!sign) unsupported("the order of two ends is not decided");
  return *sign > 0 || (*sign == 0 && or_equal);
}

/// The points that are in both regions.
Region intersection(Values& values, const Region& first, const Region& second) {
  if (first.size() * second.size() > kMostItems) exhausted("more intervals than are compared");
  Region all;
  for (const Stretch& a : first) {
    for (const Stretch& b : second) {
      Stretch both = a;
      if (b.low && (!a.low || is_after(values, *b.low, *a.low, b.low_open)))
        both.low = b.low, both.low_open = b.low_open;
      if (b.high && (!a.high || is_after(values, *a.high, *b.high, b.high_open)))
        both.high = b.high, both.high_open = b.high_open;
      if (!both.low || !both.high ||
          is_after(values, *both.high, *both.low, !both.low_open && !both.high_open))
        all.push_back(std::move(both));
    }
  }
  return all;
}

/// Sorts the stretches and joins those that touch. Returns false if the order of some ends is not
/// known.
bool merge(Values& values, Region& region) {
  if (region.size() > kMostItems) exhausted("more intervals than are compared");
  const auto order = [&](const std::optional<Form>& a,
                         const std::optional<Form>& b) -> std::optional<int> {
    return values.sign(values.algebra().subtract(*a, *b));
  };
  for (std::size_t n = 1; n < region.size(); ++n) {  // insertion sort, since a comparison may fail
    for (std::size_t m = n; m > 0 && region[m].low; --m) {
      const auto sign =
          region[m - 1].low ? order(region[m].low, region[m - 1].low) : std::optional<int>(1);
      if (!sign) return false;
      if (*sign > 0 || (*sign == 0 && !region[m - 1].low_open)) break;
      std::swap(region[m], region[m - 1]);
    }
    for (std::size_t m = n; m > 0 && !region[m].low && region[m - 1].low; --m)
      std::swap(region[m], region[m - 1]);
  }
  Region merged;
  for (Stretch& next : region) {
    if (!merged.empty() && merged.back().high) {
      const auto gap = next.low ? order(next.low, merged.back().high) : std::optional<int>(-1);
      if (!gap) return false;
      if (*gap > 0 || (*gap == 0 && next.low_open && merged.back().high_open)) {
        merged.push_back(std::move(next));
        continue;
      }
      const auto longer = next.high ? order(next.high, merged.back().high) : std::optional<int>(1);
      if (!longer) return false;
      if (*longer > 0) merged.back().high = next.high, merged.back().high_open = next.high_open;
      if (*longer == 0) merged.back().high_open = merged.back().high_open && next.high_open;
    } else if (merged.empty()) {
      merged.push_back(std::move(next));
    }
  }
  region = std::move(merged);
  return true;
}

/// The points outside of a region; nothing if the order of its ends is not known.
std::optional<Region> complement(Values& values, Region region) {
  if (!merge(values, region)) return std::nullopt;
  Region gaps;
  Stretch gap;
  for (const Stretch& stretch : region) {
    gap.high = stretch.low, gap.high_open = !stretch.low_open;
    if (stretch.low) gaps.push_back(gap);
    if (!stretch.high) return gaps;
    gap = {stretch.high, std::nullopt, !stretch.high_open, true};
  }
  gaps.push_back(gap);
  return gaps;
}

/// The solutions of |u| < a, which are those of -a < u < a, or of |u| > a.
std::optional<Region> region_of_absolute_value(Values& values, const Node& node,
                                               std::string& variable) {
  const Node& inside = node.children[0].children[0];
  const char sign = node.text[0];
  const auto above = half_line_of(values, inside, sign, node.children[1], variable);
  const auto below = half_line_of(values, inside, mirrored(sign),
                                  {Kind::negate, {}, {}, {node.children[1]}}, variable);
  if (!above || !below) return std::nullopt;
  if (sign == '<' || sign == 'l') return intersection(values, {*above}, {*below});
  return Region{*above, *below};
}

std::optional<Region> region_of_relation(Values& values, const Node& node, std::string& variable) {
  if (node.text == "=") {
    const bool is_point = is_assignment(node) && node.children[0].kind == Kind::symbol &&
                          !has_names(node.children[1]);
    if (!is_point || (!variable.empty() && variable != node.children[0].text)) return std::nullopt;
    variable = node.children[0].text;
    return Region{{values.form(node.children[1]), values.form(node.children[1]), false, false}};
  }
  if (node.text.size() == 1) {
    std::string name = variable;
    if (auto curve =
            region_of_quadratic(values, node.children[0], node.text[0], node.children[1], name)) {
      variable = name;
      return curve;
    }
  }
  if (node.text == "!") {
    const auto below = half_line_of(values, node.children[0], '<', node.children[1], variable);
    if (!below) return std::nullopt;
    const auto bound = below->high ? below->high : below->low;
    return Region{{std::nullopt, bound, true, true}, {bound, std::nullopt, true, true}};
  }
  if (node.text.size() == 1 && node.children[0].kind == Kind::call &&
      node.children[0].text == "abs")
    return region_of_absolute_value(values, node, variable);
  Stretch both;
  for (std::size_t n = 0; n < node.text.size(); ++n) {
    if (infinity_of(node.children[n]) != 0 || infinity_of(node.children[n + 1]) != 0) continue;
    if (node.text[n] == '!') return std::nullopt;
    const auto part =
        half_line_of(values, node.children[n], node.text[n], node.children[n + 1], variable);
    if (!part || (part->low && both.low) || (part->high && both.high)) return std::nullopt;
    if (part->low) both.low = part->low, both.low_open = part->low_open;
    else both.high = part->high, both.high_open = part->high_open;
  }
  if (both.low && both.high &&
      !is_after(values, *both.high, *both.low, !both.low_open && !both.high_open))
    return Region{};
  return Region{both};
}

/// The region of a list of conditions. "and" means that all hold, "or" that one holds. A comma
/// means "and" if some point satisfies all and "or" would allow every point, and "or" if "and"
/// never holds.
std::optional<Region> region_of_list(Values& values, const Node& node, std::string& variable) {
  Region any, all{{}};
  bool only_unequal = true, only_brackets = true;
  const Node* unequal = nullptr;
  for (const Node& item : node.children) {
    const bool goes_on = unequal != nullptr && item.kind < Kind::ratio;  // x != 0, 1
    const Node part = goes_on ? Node{Kind::relation, "!", {}, {unequal->children[0], item}} : item;
    if (!goes_on) unequal = part.kind == Kind::relation && part.text == "!" ? &item : nullptr;
    auto stretches = region_of(values, part, variable);
    if (!stretches) return std::nullopt;
    only_unequal &= part.kind == Kind::relation && part.text == "!";
    only_brackets &= part.kind == Kind::bracketed || part.kind == Kind::join;
    all = intersection(values, all, *stretches);
    any.insert(any.end(), stretches->begin(), stretches->end());
  }
  if (node.text == "or") return any;
  if (node.text == "and" && !only_brackets) return all;
  if (only_unequal) return all;
  if (only_brackets || all.empty()) return any;
  if (!merge(values, any)) return std::nullopt;
  const bool is_everything = any.size() == 1 && !any[0].low && !any[0].high;
  if (!is_everything)
    unsupported("conditions with a comma between them, which may mean \"and\" or \"or\"");
  return all;
}

std::optional<Region> region_of_join(Values& values, const Node& node, std::string& variable) {
  auto all = region_of(values, node.children[0], variable);
  for (std::size_t n = 1; n < node.children.size() && all; ++n) {
    auto next = region_of(values, node.children[n], variable);
    if (next && node.text[n - 1] == '-') next = complement(values, std::move(*next));
    if (!next) return std::nullopt;
    if (node.text[n - 1] == 'u') all->insert(all->end(), next->begin(), next->end());
    else all = intersection(values, *all, *next);
  }
  return all;
}

Verdict compare_ends(Values& values, const std::optional<Form>& a, const std::optional<Form>& b) {
  if (a.has_value() != b.has_value()) return {Answer::different, "an infinite and a finite end"};
  return a ? values.compare(*a, *b) : Verdict{Answer::equal, "both infinite"};
}

}  // namespace

bool is_region(const Node& node) {
  if (node.kind == Kind::bracketed) {
    const auto is_end = [](const Node& n) { return n.kind <= Kind::based; };
    if (node.children.size() != 2 || !is_end(node.children[0]) || !is_end(node.children[1]))
      return false;
    return node.text != "()" || infinity_of(node.children[0]) != 0 ||
           infinity_of(node.children[1]) != 0;
  }
  if (node.kind == Kind::relation && node.text == "i") return is_region(node.children[1]);
  if (node.kind == Kind::list)
    return std::any_of(node.children.begin(), node.children.end(), is_inequality);
  return node.kind == Kind::join || is_inequality(node);
}

std::optional<std::vector<Form>> coefficients_of(Values& values, const Node& left,
                                                 const Node& right, std::string& variable) {
  Algebra& algebra = values.algebra();
  const Form difference = algebra.subtract(values.form(left), values.form(right));
  const auto variables = algebra.atoms().variables_of(difference);
  if (variables.size() != 1 || difference.bottom.size() != 1) return std::nullopt;
  std::array<std::vector<Term>, 3> parts;
  for (const Term& term : difference.top) {
    const auto at = std::find_if(term.factors.begin(), term.factors.end(),
                                 [&](const Factor& f) { return f.atom == variables[0]; });
    Term kept = term;
    std::size_t degree = 0;
    if (at != term.factors.end()) {
      if (at->exponent != Exponent{1, 1} && at->exponent != Exponent{2, 1}) return std::nullopt;
      degree = std::size_t(at->exponent.num);
      kept.factors.erase(kept.factors.begin() + (at - term.factors.begin()));
    }
    parts[degree].push_back(std::move(kept));
  }
  std::vector<Form> found;
  for (auto& part : parts) {
    found.push_back({collect(std::move(part)), {{{}, 1}}});
    // the variable is also within a function
    if (!algebra.atoms().variables_of(found.back()).empty()) return std::nullopt;
  }
  while (!found.empty() && found.back().top.empty()) found.pop_back();
  const std::string& name = algebra.atoms()[variables[0]].name;
  if (found.size() < 2 || (!variable.empty() && variable != name)) return std::nullopt;
  variable = name;
  return found;
}

std::optional<Region> region_of(Values& values, const Node& node, std::string& variable) {
  const auto end = [&](const Node& n) {
    return infinity_of(n) != 0 ? std::optional<Form>() : std::optional<Form>(values.form(n));
  };
  if (is_inequality(node) || (node.kind == Kind::relation && node.text == "="))
    return region_of_relation(values, node, variable);
  if (node.kind == Kind::relation && node.text == "i") {
    if (node.children[0].kind == Kind::symbol) variable = node.children[0].text;
    return region_of(values, node.children[1], variable);
  }
  if (node.kind == Kind::symbol && node.text == "R") return Region{{}};
  if (node.kind == Kind::bracketed && node.children.size() == 2)
    return Region{{end(node.children[0]), end(node.children[1]),
                   node.text[0] == '(' || infinity_of(node.children[0]) != 0,
                   node.text[1] == ')' || infinity_of(node.children[1]) != 0}};
  if (node.kind == Kind::set) {
    Region points;
    for (const Node& item : node.children)
      points.push_back({values.form(item), values.form(item), false, false});
    return points;
  }
  if (node.kind == Kind::join) return region_of_join(values, node, variable);
  return node.kind == Kind::list ? region_of_list(values, node, variable) : std::nullopt;
}

Verdict compare_regions(Values& values, Region a, Region b) {
  if ((a.size() > 1 || b.size() > 1) && (!merge(values, a) || !merge(values, b)))
    return {Answer::undecided, "the order of the intervals' ends is not decided"};
  if (a.size() != b.size())
    return {Answer::different, fmt::format("{} intervals instead of {}", b.size(), a.size())};
  Verdict all{Answer::equal, "the same intervals"};
  for (std::size_t n = 0; n < a.size(); ++n) {
    if (a[n].low_open != b[n].low_open || a[n].high_open != b[n].high_open)
      return {Answer::different, "an open and a closed end"};
    for (const Verdict& end :
         {compare_ends(values, a[n].low, b[n].low), compare_ends(values, a[n].high, b[n].high)}) {
      if (end.answer == Answer::different)
        return {Answer::different, "an end of an interval: " + end.reason};
      if (end.answer == Answer::undecided) all = end;
    }
  }
  return all;
}

}  // namespace rollcall::reward::math
