// The points at which functions are compared. They are numbered, and the same on any machine.
#pragma once

#include "reward/math/values/evaluation.hpp"

#include <string_view>
#include <vector>

namespace rollcall::reward::math {

/// Coordinates have absolute values from 1/1009 to 8 and both signs. For a function with pieces
/// (absolute values, roots, floors) there are also points beyond its largest coefficient, points on
/// both sides of each border between pieces, and whole numbers. A function that is undefined
/// between whole numbers is compared only at whole numbers.
class SamplePoints {
 public:
  SamplePoints(const Atoms& atoms, std::vector<int> variables, const Form& of);
  int count() const;
  /// whether a function other than zero is unlikely to be zero at point `k`
  bool is_generic(int k) const;
  bool is_spare(int k) const;  ///< whether point `k` may be left out if enough others were computed
  Point at(int k) const;

 private:
  void note_pieces(const Atoms& atoms, const Form& of);
  void note_border(const Form& argument);

  std::vector<int> variables_;
  bool has_pieces_ = false;
  unsigned digits_ = 6;  // decimal digits of the largest wide coordinate
  std::vector<std::pair<int, mpq_class>> borders_;
};

/// Whether the form contains |.|, floor or ceil.
bool has_steps(const Atoms& atoms, const Form& form);

}  // namespace rollcall::reward::math
