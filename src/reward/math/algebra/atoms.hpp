// The atoms of one comparison, numbered: the variables, constants, roots, logarithms and functions
// in which canonical forms are polynomials.
#pragma once

#include "reward/math/algebra/form.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rollcall::reward::math {

/// Equal atoms have the same number, and numbers count from 0 in the order in which atoms first
/// appear.
class Atoms {
 public:
  /// The number of this atom, which is added if it is new. Throws NoVerdict (exhausted) when there
  /// are more than kMostNodes atoms.
  int number(AtomKind kind, const std::string& name, mpz_class base = {},
             std::vector<Form> arguments = {});
  /// A reference stays valid while atoms are added.
  const Atom& operator[](int number) const { return atoms_[std::size_t(number)]; }
  std::size_t size() const { return atoms_.size(); }
  /// Makes cos(x) known to sin(x), so that sin^2 is replaced by 1 - cos^2.
  void set_partner(int sine, int cosine) { atoms_[std::size_t(sine)].partner = cosine; }

  std::set<int> within(const Form& form) const;  ///< numbers of its atoms, including atoms in the
                                                 ///< arguments of other atoms
  std::vector<int> variables_of(const Form& form) const;  ///< numbers of its variables, ascending,
                                                          ///< including variables within arguments
  bool has_imaginary(const Form& form) const;             ///< whether i is in it

 private:
  std::deque<Atom> atoms_;
  std::map<std::string, int> numbers_;  // by a key made of kind, name, base and arguments
};

/// The atom with this number as a value.
Form atom_form(int number);

/// Appends a key that two polynomials over the same table of atoms share if and only if they are
/// equal.
void append_key(const Poly& poly, std::string& to);

}  // namespace rollcall::reward::math
