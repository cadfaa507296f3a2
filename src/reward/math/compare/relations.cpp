// Compares relations by their names, their values, or the difference between their sides.
#include "reward/math/compare/relations.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/labels.hpp"
#include "reward/math/compare/lists.hpp"
#include "reward/math/expression/tree.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::reward::math {
namespace {

bool is_same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text && a.value == b.value &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    is_same);
}

/// The name to which an assignment gives a value: x, or f in f(x). nullptr if the left side is not
/// such a name.
const std::string* assigned_name(const Node& left) {
  if (left.kind == Kind::symbol || left.kind == Kind::words) return &left.text;
  const bool is_call =
      left.kind == Kind::multiply && left.children.size() == 2 &&
      left.children[0].kind == Kind::symbol &&
      (left.children[1].kind == Kind::symbol || left.children[1].kind == Kind::bracketed);
  return is_call ? &left.children[0].text : nullptr;
}

/// The right side of f(n) = n + 1 with the argument x that `as` uses: x + 1. Nothing if `as` is not
/// such an equation of the same function.
std::optional<Node> with_argument_of(const Node& as, const Node& equation) {
  const Node &name = equation.children[0], &other = as.children[0];
  const auto is_call = [](const Node& n) {  // xy is not a call
    return n.kind == Kind::multiply && n.children.size() == 2 &&
           n.children[0].kind == Kind::symbol && n.children[1].kind == Kind::symbol &&
           n.children[0].text.size() == 1 &&
           std::string_view("fghFGH").find(n.children[0].text[0]) != std::string_view::npos;
  };
  if (!is_call(name) || !is_call(other) || name.children[0].text != other.children[0].text)
    return std::nullopt;
  const std::string &from = name.children[1].text, &to = other.children[1].text;
  return from == to || mentions(equation.children[1], to)
             ? std::nullopt
             : std::optional(with_value(equation.children[1], from, symbol(to)));
}

/// The coefficient, without variables, of the largest product of variables in `poly`.
Form leading_coefficient(const Atoms& atoms, const Poly& poly) {
  const auto part = [&](const Term& term, bool with_variables) {
    Term kept{{}, with_variables ? mpq_class(1) : term.coefficient};
    for (const Factor& f : term.factors) {
      const bool varies = !atoms.variables_of(atom_form(f.atom)).empty();
      if (varies == with_variables) kept.factors.push_back(f);
    }
    return kept;
  };
  std::vector<std::pair<std::vector<Factor>, Term>> parts;
  for (const Term& term : poly) parts.emplace_back(part(term, true).factors, part(term, false));
  const auto first = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
                       return a.first < b.first;
                     })->first;
  std::vector<Term> sum;
  for (auto& [variables, coefficient] : parts)
    if (variables == first) sum.push_back(std::move(coefficient));
  return {collect(std::move(sum)), {{{}, 1}}};
}

/// Whether a = c b for a constant c that is not zero, and that is above zero if the sign counts.
Verdict are_proportional(Values& values, const Form& first, const Form& second, bool sign_counts) {
  Algebra& algebra = values.algebra();
  const Form a = without_poles(algebra, first), b = without_poles(algebra, second);
  if (is_zero(a) || is_zero(b))
    return {is_zero(a) == is_zero(b) ? Answer::equal : Answer::different,
            "a relation that always or never holds"};
  const Form lead_a = leading_coefficient(algebra.atoms(), a.top),
             lead_b = leading_coefficient(algebra.atoms(), b.top);
  if (values.is_not_zero(lead_a).answer != Answer::equal)
    return {Answer::undecided, "a factor of the reference that may be zero"};
  if (values.is_not_zero(lead_b).answer != Answer::equal)
    return {Answer::different, "a factor that is not shown to be other than zero"};
  Verdict verdict = values.compare(algebra.multiply(a, lead_b), algebra.multiply(b, lead_a));
  if (verdict.answer != Answer::equal) return verdict;
  if (sign_counts) {
    const auto s = values.sign(lead_a), t = values.sign(lead_b);
    if (!s || !t) return {Answer::undecided, "the sign of a factor is not decided"};
    if (*s != *t) return {Answer::different, "the inequality points the other way"};
  }
  return {Answer::equal, "the same relation up to a factor"};
}

}  // namespace

bool is_assignment(const Node& node) {
  if (node.kind != Kind::relation || node.text != "=") return false;
  const std::string* name = assigned_name(node.children[0]);
  return name != nullptr && *name != "pi" && *name != "e" && *name != "i" &&
         !mentions(node.children[1], *name);
}

const Node& value_of(const Node& node) {
  if (node.kind != Kind::relation) return node;
  if (node.text == "i" || is_assignment(node)) return node.children[1];
  const bool is_chain =
      node.text.size() > 1 && node.text.find_first_not_of('=') == std::string::npos;
  return is_chain ? node.children.back() : node;
}

Form without_poles(Algebra& algebra, const Form& form) {
  std::map<int, std::int32_t> below;  // the highest power of each atom that a term is divided by
  for (const Term& term : form.top)
    for (const Factor& f : term.factors)
      if (f.exponent.num < 0 && f.exponent.den == 1)
        below[f.atom] = std::max(below[f.atom], -f.exponent.num);
  Term scale{{}, 1};
  for (const auto& [atom, power] : below) scale.factors.push_back({atom, {power, 1}});
  return {algebra.polynomials().multiply(form.top, {scale}), {{{}, 1}}};
}

Verdict compare_relations(Values& values, const Node& a, const Node& b) {
  if (a.text.size() != 1 || b.text.size() != 1) {
    const Node &x = value_of(a), &y = value_of(b);
    if (x.kind != Kind::relation && y.kind != Kind::relation) return compare(values, x, y);
    if (a.text.size() != b.text.size()) return {Answer::different, "a relation of another length"};
    if (a.text == b.text) return compare_in_order(values, a.children, b.children);
    return {Answer::undecided, "chains of relations with other signs"};
  }
  char sign_a = a.text[0], sign_b = b.text[0];
  if (sign_a == 'i' || sign_b == 'i')
    return sign_a == sign_b ? compare(values, a.children[1], b.children[1])
                            : Verdict{Answer::different, "another relation"};
  const Node &name_a = a.children[0], &name_b = b.children[0];
  const bool is_equation = sign_a == '=' && !is_assignment(a) && names_of(a).size() == 1 &&
                           name_a.kind < Kind::words && a.children[1].kind < Kind::words;
  if (is_equation && is_assignment(b) && name_b.kind == Kind::symbol && !has_names(b.children[1]))
    return check_solutions(values, a, b);
  if (is_assignment(a) && is_assignment(b))
    if (const auto value = with_argument_of(a, b)) return compare(values, a.children[1], *value);
  if (sign_a == '=' && sign_b == '=' && name_a.kind == Kind::bracketed && is_same(name_a, name_b))
    return compare(values, a.children[1], b.children[1]);
  const auto is_y = [](const Node& n) { return n.kind == Kind::symbol && n.text == "y"; };
  const auto is_f_of_x = [](const Node& n) {
    return n.kind == Kind::multiply && n.children.size() == 2 && n.children[0].text == "f" &&
           n.children[1].text == "x";
  };
  const bool is_curve = (is_y(name_a) && is_f_of_x(name_b)) || (is_y(name_b) && is_f_of_x(name_a));
  const bool is_label = name_a.kind == Kind::words || name_b.kind == Kind::words;
  if (is_assignment(a) && is_assignment(b) && (is_same(name_a, name_b) || is_label || is_curve)) {
    Verdict verdict = compare(values, a.children[1], b.children[1]);
    const bool is_other = is_label && name_a.kind == name_b.kind &&
                          name_a.text.find(name_b.text) == std::string::npos &&
                          name_b.text.find(name_a.text) == std::string::npos;
    return is_other && verdict.answer == Answer::equal
               ? Verdict{Answer::different, "the same value under another name"}
               : verdict;
  }
  const auto flipped = [](char sign) { return sign == '>' ? '<' : sign == 'g' ? 'l' : sign; };
  const auto difference = [&](const Node& n, char sign) {
    const bool turned = flipped(sign) != sign;
    return values.algebra().subtract(values.form(n.children[turned ? 1 : 0]),
                                     values.form(n.children[turned ? 0 : 1]));
  };
  const Form x = difference(a, sign_a), y = difference(b, sign_b);
  sign_a = flipped(sign_a), sign_b = flipped(sign_b);
  if (sign_a != sign_b) return {Answer::different, "another relation"};
  return are_proportional(values, x, y, sign_a == '<' || sign_a == 'l');
}

}  // namespace rollcall::reward::math
