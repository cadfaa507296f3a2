// Computes the points of each kind, and the borders between the pieces of a function.
#include "reward/math/values/points.hpp"

#include "base/numbers/random.hpp"

#include <algorithm>

namespace rollcall::reward::math {
namespace {

constexpr int kGeneric = 12, kWide = 12, kWhole = 6;
constexpr std::size_t kMostBorders = 8;
constexpr unsigned kMostDigits = 300;

std::uint64_t draw(std::uint64_t point, int variable, std::uint64_t number, std::uint64_t n) {
  return RandomStream(0, RandomPurpose::verification, point, std::uint64_t(variable))
      .below(number, n);
}

/// A coordinate of point `k`: up to 1 for k < 4, above 1 from 4 on, and of either sign from 8 on.
mpq_class generic(int k, int variable) {
  mpq_class value(static_cast<unsigned long>(1 + draw(std::uint64_t(k), variable, 0, 1008)), 1009);
  if (k >= 4) value = value * 7 + 1;
  if (k >= 8 && (k % 2 == 0 || draw(std::uint64_t(k), variable, 1, 2) == 0)) value = -value;
  value.canonicalize();
  return value;
}

/// Coordinates with absolute values that are spread evenly over the powers of ten, with alternating
/// signs.
mpq_class wide(int k, int variable, unsigned digits) {
  mpz_class size;
  mpz_ui_pow_ui(size.get_mpz_t(), 10, 1 + (digits - 1) * unsigned(k / 2) / unsigned(kWide / 2 - 1));
  const mpq_class value = generic(4, variable) * mpq_class(size);
  return k % 2 == 0 ? value : mpq_class(-value);
}

mpq_class whole(int k, int variable) {
  return mpq_class(
      static_cast<unsigned long>(1 + draw(std::uint64_t(kGeneric + k), variable, 0, 12)));
}

unsigned decimal_digits(const mpz_class& n) { return unsigned(mpz_sizeinbase(n.get_mpz_t(), 10)); }

bool is_step(const Atom& a) {
  return a.kind == AtomKind::function && (a.name == "abs" || a.name == "floor" || a.name == "ceil");
}
bool is_piecewise(const Atom& a) {
  return is_step(a) || a.kind == AtomKind::root ||
         (a.kind == AtomKind::function && a.name == "root");
}

}  // namespace

bool has_steps(const Atoms& atoms, const Form& form) {
  const auto numbers = atoms.within(form);
  return std::any_of(numbers.begin(), numbers.end(), [&](int a) { return is_step(atoms[a]); });
}

SamplePoints::SamplePoints(const Atoms& atoms, std::vector<int> variables, const Form& of)
    : variables_(std::move(variables)) {
  note_pieces(atoms, of);
}

void SamplePoints::note_pieces(const Atoms& atoms, const Form& of) {
  const auto note_size = [&](const Poly& poly) {
    for (const Term& term : poly)
      digits_ =
          std::min(kMostDigits, std::max({digits_, 2 + decimal_digits(term.coefficient.get_num()),
                                          2 + decimal_digits(term.coefficient.get_den())}));
  };
  for (const int number : atoms.within(of)) {
    const Atom& a = atoms[number];
    if (!is_piecewise(a)) continue;
    has_pieces_ = true;
    note_size(a.arguments[0].top);
    note_border(a.arguments[0]);
  }
}

/// Notes where a x + b changes its sign, or where a x^2 + b x + c has its turning point.
void SamplePoints::note_border(const Form& argument) {
  mpq_class coefficients[3];
  int variable = -1;
  for (const Term& term : argument.top) {
    if (term.factors.size() > 1 || (!term.factors.empty() && (term.factors[0].exponent.den != 1 ||
                                                              term.factors[0].exponent.num > 2)))
      return;
    const int power = term.factors.empty() ? 0 : term.factors[0].exponent.num;
    if (power < 0 || (power > 0 && variable >= 0 && variable != term.factors[0].atom)) return;
    if (power > 0) variable = term.factors[0].atom;
    coefficients[power] = term.coefficient;
  }
  if (std::find(variables_.begin(), variables_.end(), variable) == variables_.end() ||
      borders_.size() >= kMostBorders)
    return;
  const auto& [constant, slope, bend] = coefficients;
  borders_.emplace_back(variable,
                        bend != 0 ? mpq_class(-slope / (2 * bend)) : mpq_class(-constant / slope));
}

int SamplePoints::count() const {
  return kGeneric + (has_pieces_ ? kWide + 2 * int(borders_.size()) : 0) + kWhole;
}
bool SamplePoints::is_generic(int k) const { return k < count() - kWhole; }
bool SamplePoints::is_spare(int k) const { return !is_generic(k) && !has_pieces_; }

Point SamplePoints::at(int k) const {
  Point point;
  const int behind = k - kGeneric, near = behind - kWide, last = k - (count() - kWhole);
  for (const int v : variables_)
    point[v] = last >= 0    ? whole(last, v)
               : behind < 0 ? generic(k, v)
               : near < 0   ? wide(behind, v, digits_)
                            : generic(4 + near % 8, v);
  if (last < 0 && near >= 0) {
    const auto& [variable, border] = borders_[std::size_t(near / 2)];
    point[variable] = border + (near % 2 == 0 ? mpq_class(1, 1009) : mpq_class(-1, 1009));
  }
  return point;
}

}  // namespace rollcall::reward::math
