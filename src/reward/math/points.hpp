// Where functions are compared: numbered points, each the same on any machine.
#pragma once

#include "reward/math/evaluation.hpp"

#include <string_view>
#include <vector>

namespace rollcall::reward::math {

/// Sizes from 1/1009 to 8 of both signs; where a function has pieces (absolute values, roots,
/// floors) also sizes up to beyond its largest coefficient, both sides of the places where a piece
/// begins, and whole numbers. What is not defined between whole numbers is compared at these alone.
class SamplePoints {
 public:
  SamplePoints(const Atoms& atoms, std::vector<int> variables, const Form& of);
  int count() const;
  bool is_generic(int k) const;  ///< no point at which a function that is not zero is likely to be
  bool is_spare(int k) const;    ///< of no use where enough others were
  Point at(int k) const;

 private:
  void note_pieces(const Atoms& atoms, const Form& of);
  void note_border(const Form& argument);

  std::vector<int> variables_;
  bool has_pieces_ = false;
  unsigned digits_ = 6;  // of the largest wide coordinate
  std::vector<std::pair<int, mpq_class>> borders_;
};

/// Whether |.|, floor or ceil stands in the form.
bool has_steps(const Atoms& atoms, const Form& form);

}  // namespace rollcall::reward::math
