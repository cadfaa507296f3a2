// Compares equations with values, and substitutes values into equations.
#include "reward/math/compare/labels.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/regions.hpp"
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/signs.hpp"
#include "reward/math/expression/structures.hpp"
#include "reward/math/expression/tree.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace rollcall::reward::math {
namespace {

bool is_name(const Node& node) {
  return node.kind == Kind::symbol && node.text != "pi" && node.text != "e" && node.text != "i";
}

void note_names(const Node& node, std::set<std::string>& names) {
  if (is_name(node)) names.insert(node.text);
  for (const Node& child : node.children) note_names(child, names);
}

bool is_function_name(const std::string& name) {
  return name.size() == 1 && std::string_view("fghFGHPpE").find(name[0]) != std::string_view::npos;
}

/// Whether the node applies a function or is a derivative: f(x), f^{-1}(x), dy/dx.
bool is_application(const Node& node) {
  if (node.kind == Kind::divide) {
    const auto is_d = [](const Node& n) {
      return n.kind == Kind::multiply && n.children[0].kind == Kind::symbol &&
             n.children[0].text == "d";
    };
    return is_d(node.children[0]) && is_d(node.children[1]);
  }
  if (node.kind != Kind::multiply) return false;
  const Node& first =
      node.children[0].kind == Kind::power ? node.children[0].children[0] : node.children[0];
  return first.kind == Kind::symbol && is_function_name(first.text);
}

/// Whether the left side only names the value on the right side, so that the equation is not one to
/// be solved for x.
bool is_label(const Node& left, const Node& right) {
  if (left.kind == Kind::words) return true;
  if (left.kind == Kind::bracketed)
    return right.kind == Kind::bracketed &&
           std::all_of(left.children.begin(), left.children.end(), is_name) &&
           std::is_sorted(left.children.begin(), left.children.end(),
                          [](const Node& a, const Node& b) { return a.text < b.text; });
  if (is_application(left)) return true;
  const auto names = names_of(left);
  const bool names_functions =
      !names.empty() && std::all_of(names.begin(), names.end(), is_function_name);
  return (names_functions || names.size() > 1) && !has_names(right);
}

bool is_equation(const Node& node) {
  return node.kind == Kind::relation && node.text == "=" && !has_two_signs(node.children[1]);
}

/// Number of real solutions of a polynomial equation in one variable, up to degree two; for a
/// higher degree, the degree, which is the most that it can have. Nothing for other equations.
std::optional<std::int32_t> count_solutions(Values& values, const Node& equation) {
  Algebra& algebra = values.algebra();
  std::string variable;
  if (const auto curve =
          coefficients_of(values, equation.children[0], equation.children[1], variable);
      curve && curve->size() == 3) {
    const Form &c = (*curve)[0], &b = (*curve)[1], &a = (*curve)[2];
    const auto roots = values.sign(
        algebra.subtract(algebra.multiply(b, b), algebra.scale(algebra.multiply(a, c), 4)));
    if (roots) return 1 + *roots;
  }
  const Form difference = without_poles(
      algebra,
      algebra.subtract(values.form(equation.children[0]), values.form(equation.children[1])));
  const auto variables = algebra.atoms().variables_of(difference);
  if (variables.size() != 1) return std::nullopt;
  std::int32_t degree = 0;
  for (const Term& term : difference.top) {
    for (const Factor& f : term.factors) {
      if (f.atom == variables[0] && f.exponent.den == 1) degree = std::max(degree, f.exponent.num);
      else if (!algebra.atoms().variables_of(atom_form(f.atom)).empty()) return std::nullopt;
    }
  }
  return degree;
}

}  // namespace

std::set<std::string> names_of(const Node& node) {
  std::set<std::string> names;
  note_names(node, names);
  return names;
}

bool has_names(const Node& node) {
  return is_name(node) || std::any_of(node.children.begin(), node.children.end(), has_names);
}

Verdict chain_holds(Values& values, const Node& chain) {
  Verdict all{Answer::equal, "all sides are equal"};
  const Node& last = chain.children.back();
  const bool is_sum =
      !has_names(chain.children[0]) && chain.children[0].kind < Kind::words && !has_names(last);
  for (std::size_t n = is_sum ? 0 : 1; n + 1 < chain.children.size(); ++n) {
    const Verdict side = compare(values, last, chain.children[n]);
    if (side.answer == Answer::different)
      return {Answer::different, "an equation that does not hold"};
    if (side.answer == Answer::undecided) all = side;
  }
  return all;
}

std::optional<Verdict> compare_equation_and_value(Values& values, const Node& reference,
                                                  const Node& answer) {
  const bool is_answer = is_equation(answer);
  if (is_answer == is_equation(reference)) return std::nullopt;
  const Node& equation = is_answer ? answer : reference;
  const Node &left = equation.children[0], &right = equation.children[1];
  const auto with = [&](const Node& side) {
    return is_answer ? compare(values, reference, side) : compare(values, side, answer);
  };
  if (left.kind < Kind::words && !has_names(left)) return with(is_name(right) ? left : right);
  if (is_assignment(equation) || (is_label(left, right) && (is_answer || left.kind >= Kind::words)))
    return with(right);
  const bool is_scalar = left.kind < Kind::words && right.kind < Kind::words;
  if (!is_answer)
    return is_scalar && names_of(equation).size() == 1
               ? check_solutions(values, equation, answer)
               : Verdict{Answer::different, "an equation and none"};
  // Both sides are equal, so that the equation states the value of either.
  if (is_scalar && values.compare(values.form(left), values.form(right)).answer == Answer::equal)
    return with(right);
  return Verdict{Answer::different, "an equation that is not solved"};
}

Verdict check_solutions(Values& values, const Node& equation, const Node& answer) {
  const std::string name = *names_of(equation).begin();
  std::vector<Form> found;
  const auto items = spread(answer);
  if (items.size() > kMostItems)
    return {Answer::different, "more values than are put into an equation"};
  for (const Node& item : items) {
    const Node& value = value_of(item);
    const bool is_other =
        &value != &item && item.children[0].kind == Kind::symbol && item.children[0].text != name;
    if (is_other || value.kind >= Kind::ratio || has_names(value) || infinity_of(value) != 0)
      return {Answer::different, "an equation, and no value of its variable"};
    const auto side = [&](std::size_t n) {
      return values.form(with_value(equation.children[n], name, value));
    };
    const Verdict solves = values.compare(side(0), side(1));
    if (solves.answer == Answer::different)
      return {Answer::different, "a value that does not solve the reference's equation"};
    if (solves.answer == Answer::undecided) return solves;
    const Form form = values.form(value);
    if (std::none_of(found.begin(), found.end(), [&](const Form& f) {
          return values.compare(f, form).answer == Answer::equal;
        }))
      found.push_back(form);
  }
  const auto count = count_solutions(values, equation);
  if (count && std::size_t(*count) > found.size() && *count <= 2)
    return {Answer::different, "one of two solutions"};
  if (count && std::size_t(*count) == found.size())
    return {Answer::equal, "all solutions of the equation"};
  return left_open(Open::equation, "what is said solves it, but may not be all");
}

}  // namespace rollcall::reward::math
