// Exact algebra on canonical forms. One Algebra holds the atoms of one comparison and counts its
// work.
#pragma once

#include "reward/math/form.hpp"
#include "reward/math/limits.hpp"

#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace rollcall::reward::math {

/// Every operation throws NoVerdict: undefined (a division by zero), or exhausted.
class Algebra {
 public:
  explicit Algebra(std::int64_t most_work = kMostWork) : budget_(most_work, "products of terms") {}
  Form variable(const std::string& name) { return atom(AtomKind::variable, name); }
  Form pi() { return atom(AtomKind::pi, "pi"); }
  Form e() { return atom(AtomKind::e, "e"); }
  Form i() { return atom(AtomKind::i, "i"); }

  Form add(const Form& a, const Form& b);
  Form subtract(const Form& a, const Form& b) { return add(a, negate(b)); }
  Form multiply(const Form& a, const Form& b);
  Form divide(const Form& a, const Form& b) { return multiply(a, inverse(b)); }
  Form inverse(const Form& a);
  Form negate(Form a) const;
  Form scale(const Form& a, const mpq_class& by);
  Form power(const Form& base, const Form& exponent);
  /// sin, cos, ..., ln, exp, abs, floor, ceil, factorial of one argument; binomial of two.
  Form call(const std::string& name, const std::vector<Form>& arguments);

  /// What was divided by, and what a logarithm or a power needs to be no zero, apart from numbers;
  /// each once. An expression has a value where none of them is zero, which its canonical form may
  /// no longer show: 0/u is 0, and u^0 is 1.
  const std::vector<Form>& divisors() const { return divisors_; }

  /// Whether the canonical forms are the same. False proves nothing: an identity may be unknown
  /// here.
  bool same(const Form& a, const Form& b);

  Form atom_form(int number) const;  ///< the atom as a value
  const Atom& atom(int number) const { return atoms_[std::size_t(number)]; }
  std::size_t atoms() const { return atoms_.size(); }
  std::set<int> atoms_of(const Form& form) const;         ///< those within functions too
  std::vector<int> variables_of(const Form& form) const;  ///< ascending, also within functions
  bool has_imaginary(const Form& form) const;
  Poly multiply(const Poly& a, const Poly& b);
  Poly add(Poly a, const Poly& b);
  Poly collect(std::vector<Term> terms);
  Budget& budget() { return budget_; }

 private:
  Form atom(AtomKind kind, const std::string& name, mpz_class base = {},
            std::vector<Form> arguments = {});
  int atom_number(AtomKind kind, const std::string& name, mpz_class base,
                  std::vector<Form> arguments);
  Form quotient(Poly top, Poly bottom);
  void note_divisor(const Form& form);
  void reduce(Term term, std::vector<Term>& to);
  bool reduce_factor(Term& term, std::size_t at, std::vector<Term>& to);
  Poly power(const Poly& base, std::uint32_t n);

  Form integer_power(const Form& base, std::int64_t n);
  Form unexpanded(const Form& base, const mpq_class& exponent);
  Form root(const Form& base, std::int32_t degree);
  Form root_of_term(const Term& term, std::int32_t degree);
  Form root_of_number(const mpq_class& value, std::int32_t degree);
  Form symbolic_power(const Form& base, const Form& exponent);
  std::vector<std::pair<mpz_class, std::int32_t>> factors_of(mpz_class n);

  Form logarithm(const Form& a);
  Form logarithm_of_number(const mpz_class& n);
  Form circular(const std::string& name, const Form& a);
  Form inverse_circular(const std::string& name, const Form& a);
  std::optional<Form> cosine_of_turn(mpq_class halves);
  Form absolute(const Form& a);
  Form rounded(const std::string& name, const Form& a);
  Form factorial(const Form& a);
  Form binomial(const Form& n, const Form& k);
  Form function(const std::string& name, std::vector<Form> arguments) {
    return atom(AtomKind::function, name, {}, std::move(arguments));
  }

  std::deque<Atom> atoms_;  // references stay valid while it grows
  std::map<std::string, int> numbers_;
  std::vector<Form> divisors_;
  std::set<std::string> divisor_keys_;
  Budget budget_;
};

}  // namespace rollcall::reward::math
