// Decides about values. An "equal" is proven by canonical forms or by a separation bound, or it
// means agreement to a stated number of bits.
#include "reward/math/values/values.hpp"

#include "reward/math/algebra/functions.hpp"
#include "reward/math/algebra/powers.hpp"
#include "reward/math/values/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::reward::math {
namespace {

// bits of precision; each step takes longer than all before it together
constexpr std::array kPrecisions = {96, 384, 1536, 6144, 24576};
constexpr int kMostBitsOfFunctions = 6144;  // most bits at which exp, log, sin, ... are evaluated
constexpr long kAgreement = 192;  // bits of agreement that count as equality if nothing is proven
constexpr int kFewestPoints = 3;

/// Whether all members of the box are below 2^-bits in absolute value.
bool is_below(const Box& box, long bits) {
  return box.re.exponent() <= -bits && (!box.im || box.im->exponent() <= -bits);
}
bool excludes_zero(const Box& box) { return !box.re.has_zero() || (box.im && !box.im->has_zero()); }

std::string size_of(const Box& box) {
  return box.im && box.re.has_zero() ? fmt::format("{:.3g} i", box.im->middle())
                                     : fmt::format("{:.3g}", box.re.middle());
}

}  // namespace

Form Values::form(const Node& node) {
  const auto child = [&](std::size_t n) { return form(node.children[n]); };
  switch (node.kind) {
    case Kind::number: return constant(*node.value);
    case Kind::based: return constant(*node.value);
    case Kind::symbol:
      return node.text == "pi"  ? algebra_.pi()
             : node.text == "e" ? algebra_.e()
             : node.text == "i" ? algebra_.i()
                                : algebra_.variable(node.text);
    case Kind::add: {
      Form sum = child(0);
      for (std::size_t n = 1; n < node.children.size(); ++n) sum = algebra_.add(sum, child(n));
      return sum;
    }
    case Kind::multiply: {
      Form product = child(0);
      for (std::size_t n = 1; n < node.children.size(); ++n)
        product = algebra_.multiply(product, child(n));
      return product;
    }
    case Kind::divide: return algebra_.divide(child(0), child(1));
    case Kind::negate: return negate(child(0));
    case Kind::power: return power(algebra_, child(0), child(1));
    case Kind::call: return call(node);
    case Kind::percent: return algebra_.scale(child(0), mpq_class(1, 100));
    case Kind::degrees:
      return algebra_.multiply(algebra_.scale(child(0), mpq_class(1, 180)), algebra_.pi());
    case Kind::ratio:
      if (node.children.size() != 2)
        unreadable("a ratio of several parts where a number should stand");
      return algebra_.divide(child(0), child(1));
    default: unreadable("a set, a relation, words or infinity where a number should stand");
  }
}

Form Values::call(const Node& node) {
  std::vector<Form> arguments;
  for (const Node& child : node.children) arguments.push_back(form(child));
  if (node.text == "ln" && rational(arguments[0]) == mpq_class(0)) undefined("a logarithm of zero");
  return apply_function(algebra_, node.text, arguments);
}

Verdict compare_numbers(const mpq_class& a, const mpq_class& b) {
  if (a == b) return {Answer::equal, "the same number"};
  const double by = mpq_class(b - a).get_d();
  return {Answer::different, by == 0 ? "the numbers differ by less than a double shows"
                                     : fmt::format("the numbers differ by {:.3g}", by)};
}

Verdict Values::compare(const Form& a, const Form& b) {
  const auto x = rational(a), y = rational(b);
  if (x && y) return compare_numbers(*x, *y);
  if (algebra_.same(a, b)) return {Answer::equal, "the same canonical form"};
  const Form difference = algebra_.subtract(a, b);
  if (is_zero(difference)) return {Answer::equal, "the same canonical form"};
  const std::vector<int> variables = algebra_.atoms().variables_of(difference);
  return variables.empty() ? compare_constants(difference.top)
                           : compare_functions(a, b, difference.top, variables);
}

Verdict Values::compare_constants(const Poly& difference) {
  const auto separation = separation_bits(algebra_.atoms(), difference);
  const Point nowhere;
  for (const int bits : kPrecisions) {
    if (!separation && bits > kMostBitsOfFunctions) break;
    Evaluation evaluation(algebra_.atoms(), nowhere, bits, false, evaluations_);
    const auto value = evaluation.value(difference);
    if (!value) continue;
    if (excludes_zero(*value))
      return {Answer::different, fmt::format("the values differ by {}", size_of(*value))};
    if (separation && is_below(*value, *separation))
      return {Answer::equal,
              fmt::format("algebraic numbers closer than their separation bound of 2^-{}",
                          *separation)};
    const long needed =
        kAgreement + 2 * coefficient_bits(algebra_.atoms(), difference) + 2 * evaluation.reach();
    if (!separation && is_below(*value, needed))
      return {Answer::equal, fmt::format("the values agree to {} bits", needed)};
  }
  return {Answer::undecided, "the values are closer than can be told apart, or not defined"};
}

Verdict Values::compare_functions(const Form& a, const Form& b, const Poly& difference,
                                  const std::vector<int>& variables) {
  const bool real_only = !algebra_.atoms().has_imaginary(a) && !algebra_.atoms().has_imaginary(b);
  const SamplePoints points(algebra_.atoms(), variables, {difference, {{{}, 1}}});
  int agreeing = 0, undefined_at = 0;
  bool reference_has_more = false;
  for (int k = 0; k < points.count() && !(points.is_spare(k) && agreeing >= kFewestPoints); ++k) {
    const Point point = points.at(k);
    const auto [size, value] = size_at(point, difference, real_only);
    if (size == Size::not_zero)
      return {Answer::different, fmt::format("the values differ by {} at point {}", value, k)};
    agreeing += size == Size::zero ? 1 : 0;
    if (size != Size::unknown || !points.is_generic(k)) continue;
    ++undefined_at;
    reference_has_more = reference_has_more || is_defined_at(point, a, real_only);
  }
  if (agreeing < kFewestPoints)
    return {Answer::undecided, "the values could not be computed at enough points"};
  if (undefined_at > 0 && has_steps(algebra_.atoms(), a) != has_steps(algebra_.atoms(), b))
    return has_steps(algebra_.atoms(), b) && !reference_has_more
               ? left_open(Open::wider)
               : Verdict{Answer::undecided,
                         "the values agree where both are defined, and only there"};
  return {Answer::equal,
          fmt::format("the values agree to {} bits at {} points", kAgreement, agreeing)};
}

/// Whether a value at a point is zero, at the lowest precision that shows it.
std::pair<Values::Size, std::string> Values::size_at(const Point& point, const Poly& poly,
                                                     bool real_only) {
  for (const int bits : kPrecisions) {
    if (bits > kMostBitsOfFunctions) break;
    Evaluation evaluation(algebra_.atoms(), point, bits, real_only, evaluations_);
    const auto value = evaluation.value(poly);
    if (!value) break;
    if (excludes_zero(*value)) return {Size::not_zero, size_of(*value)};
    const long needed = kAgreement + 2 * evaluation.reach();
    if (is_below(*value, needed)) return {Size::zero, {}};
    if (needed > kMostBitsOfFunctions) break;
  }
  return {Size::unknown, {}};
}

Verdict Values::is_not_zero(const Form& form) {
  const auto variables = algebra_.atoms().variables_of(form);
  if (variables.empty()) {
    const Verdict null = compare(form, constant(0));
    if (null.answer == Answer::different) return {Answer::equal, "it is not zero"};
    return {null.answer == Answer::equal ? Answer::different : Answer::undecided,
            "a division by what is, or may be, zero"};
  }
  const SamplePoints points(algebra_.atoms(), variables, form);
  int zeros = 0, others = 0;
  for (int k = 0; k < points.count() && !(points.is_spare(k) && others >= kFewestPoints); ++k) {
    const Size size = size_at(points.at(k), form.top, false).first;
    others += size == Size::not_zero ? 1 : 0;
    zeros += size == Size::zero && points.is_generic(k) ? 1 : 0;
  }
  if (others >= kFewestPoints && zeros == 0) return {Answer::equal, "it is not zero"};
  return {others == 0 && zeros >= kFewestPoints ? Answer::different : Answer::undecided,
          "a division by what is, or may be, zero"};
}

bool Values::is_defined_at(const Point& point, const Form& form, bool real_only) {
  return Evaluation(algebra_.atoms(), point, kPrecisions[0], real_only, evaluations_)
      .value(form)
      .has_value();
}

Verdict Values::computed(const Form& form) {
  const Verdict fine{Answer::equal, "it is computed"};
  if (rational(form)) return fine;
  const auto variables = algebra_.atoms().variables_of(form);
  if (variables.empty()) {
    if (size_at({}, form.top, false).first == Size::unknown) return left_open(Open::valueless);
    const Point nowhere;
    Evaluation evaluation(algebra_.atoms(), nowhere, kPrecisions[0], false, evaluations_);
    evaluation.value(form);
    const auto separation = separation_bits(algebra_.atoms(), form.top);
    const long needed = separation.value_or(
        kAgreement + 2 * coefficient_bits(algebra_.atoms(), form.top) + 2 * evaluation.reach());
    const bool is_costly = needed > (separation ? kPrecisions.back() : kMostBitsOfFunctions);
    return is_costly
               ? left_open(Open::costly, fmt::format("{} bits tell it from other values", needed))
               : fine;
  }
  const SamplePoints points(algebra_.atoms(), variables, form);
  int found = 0;
  for (int k = 0; k < points.count() && found < kFewestPoints; ++k)
    found += size_at(points.at(k), form.top, false).first != Size::unknown ? 1 : 0;
  return found >= kFewestPoints ? fine : left_open(Open::valueless);
}

Verdict Values::all_is_defined() {
  const std::vector<Form> divisors = algebra_.divisors();
  for (const Form& divisor : divisors)
    if (Verdict verdict = is_not_zero(divisor); verdict.answer != Answer::equal) return verdict;
  return {Answer::equal, "nothing is divided by zero"};
}

std::optional<int> Values::sign(const Form& a) {
  if (const auto value = rational(a)) return sgn(*value);
  if (!algebra_.atoms().variables_of(a).empty()) return std::nullopt;
  const Verdict is_null = compare(a, constant(0));
  if (is_null.answer != Answer::different)
    return is_null.answer == Answer::equal ? std::optional<int>(0) : std::nullopt;
  const Point nowhere;
  for (const int bits : kPrecisions) {
    if (bits > kMostBitsOfFunctions) break;
    Evaluation evaluation(algebra_.atoms(), nowhere, bits, false, evaluations_);
    const auto value = evaluation.value(a);
    if (value && !value->im && !value->re.has_zero()) return value->re.is_positive() ? 1 : -1;
  }
  return std::nullopt;
}

}  // namespace rollcall::reward::math
