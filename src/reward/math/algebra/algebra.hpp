// Exact algebra on canonical forms, for one comparison.
#pragma once

#include "reward/math/algebra/atoms.hpp"
#include "reward/math/algebra/form.hpp"
#include "reward/math/algebra/polynomials.hpp"
#include "reward/math/limits.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::reward::math {

/// The field operations on forms. powers.hpp has powers, functions.hpp all other functions. Every
/// operation throws NoVerdict: undefined (a division by zero), or exhausted (too much work).
class Algebra {
 public:
  /// `most_work` counts products of terms, weighted by the length of their coefficients.
  explicit Algebra(std::int64_t most_work = kMostWork) : polynomials_(most_work) {}
  Form variable(const std::string& name) { return atom(AtomKind::variable, name); }
  Form pi() { return atom(AtomKind::pi, "pi"); }
  Form e() { return atom(AtomKind::e, "e"); }
  Form i() { return atom(AtomKind::i, "i"); }
  /// An atom as a value; `base` and `arguments` are as in Atom.
  Form atom(AtomKind kind, const std::string& name, mpz_class base = {},
            std::vector<Form> arguments = {});
  /// A function that stays as it is, as an atom: `name` of canonical arguments.
  Form function(const std::string& name, std::vector<Form> arguments) {
    return atom(AtomKind::function, name, {}, std::move(arguments));
  }

  Form add(const Form& a, const Form& b);
  Form subtract(const Form& a, const Form& b) { return add(a, negate(b)); }
  Form multiply(const Form& a, const Form& b);
  Form divide(const Form& a, const Form& b) { return multiply(a, inverse(b)); }
  Form inverse(const Form& a);
  Form scale(const Form& a, const mpq_class& by);
  /// top / bottom. Divides out a bottom of one term, and one that the top is a multiple of.
  Form quotient(Poly top, Poly bottom);

  /// Whether the canonical forms are the same. False proves nothing, since an identity may be
  /// unknown here.
  bool same(const Form& a, const Form& b);

  /// The forms that an expression was divided by, and those that a logarithm or a power needs to be
  /// other than zero, apart from numbers; each once. An expression has a value where none of them
  /// is zero, which its canonical form may no longer show: 0/u becomes 0, and u^0 becomes 1.
  const std::vector<Form>& divisors() const { return divisors_; }
  /// Adds a form to divisors() unless it cannot be zero.
  void note_divisor(const Form& form);

  Atoms& atoms() { return polynomials_.atoms(); }
  const Atoms& atoms() const { return polynomials_.atoms(); }
  Polynomials& polynomials() { return polynomials_; }

 private:
  Polynomials polynomials_;
  std::vector<Form> divisors_;
  std::set<std::string> divisor_keys_;  // a key for each of divisors_, to find repetitions
};

}  // namespace rollcall::reward::math
