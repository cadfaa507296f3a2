// Units behind a value: which there are, and how they convert.
#pragma once

#include <gmpxx.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Unit {
  std::map<std::string, int> powers{};  ///< of "length", "mass", "money", ...; a counted thing is a dimension of its own
  mpq_class factor = 1;                 ///< in the base units of the dimensions

  Unit raised(int power) const;
  Unit times(const Unit& other) const;
  std::string dimension() const;  ///< "length/time^2"
};

/// cm, square feet, km/h, miles per hour, kg m/s^2, apples. None for words that are no unit known here.
std::optional<Unit> find_unit(std::string_view words);

/// Words that change a number, as "million" does: what it is multiplied by. None for others.
std::optional<mpq_class> find_multiplier(std::string_view word);

/// zero, ..., twenty, thirty, ..., ninety and twenty-one, ..., in any case. None for others.
std::optional<int> find_number(std::string_view words);

}  // namespace rollcall::reward::math
