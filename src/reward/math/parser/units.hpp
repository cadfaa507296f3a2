// Units after a value, and their conversion.
#pragma once

#include <gmpxx.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Unit {
  /// exponents of the dimensions "length", "mass", "time", "money", ...
  std::map<std::string, int> powers{};
  /// Exponents of counted things by the stems of their words, such as "goat". A number without
  /// counted things may mean the same quantity.
  std::map<std::string, int> counted{};
  mpq_class factor = 1;  ///< size in the base units of the dimensions
  mpq_class offset = 0;  ///< for temperatures: zero of this unit in the base unit

  Unit raised(int power) const;
  Unit times(const Unit& other) const;
  std::string dimension() const;  ///< "length/time^2"
};

/// Reads cm, kJ, square feet, km/h, miles per hour, kg m/s^2, J/(kg K), goats. SI symbols are told
/// apart by case if case matters. Unknown words are taken as counted things. Returns nothing for
/// words that may change the value: "less", "or", "is not".
std::optional<Unit> find_unit(std::string_view words);

/// Whether a single symbol or name, with its prefix, is a unit of the table.
bool is_unit(std::string_view word);

/// Whether both may count the same things, which is so if one only adds details to the other.
bool may_count_the_same(const Unit& a, const Unit& b);

}  // namespace rollcall::reward::math
