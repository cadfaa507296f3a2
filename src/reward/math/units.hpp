// Units behind a value: which there are, and how they convert.
#pragma once

#include <gmpxx.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Unit {
  std::map<std::string, int> powers{};   ///< of "length", "mass", "time", "money", ...
  std::map<std::string, int> counted{};  ///< of what is counted, by the stems of its words: "goat";
                                         ///< a number without them may be the same
  mpq_class factor = 1;                  ///< in the base units of the dimensions
  mpq_class offset = 0;                  ///< likewise, of a temperature alone: what zero of it is

  Unit raised(int power) const;
  Unit times(const Unit& other) const;
  std::string dimension() const;  ///< "length/time^2"
};

/// cm, kJ, square feet, km/h, miles per hour, kg m/s^2, J/(kg K), goats. Symbols of SI are told
/// apart by case where it matters. Words that are no unit known here count what stands before them.
/// None for words that may change the value: "less", "or", "is not".
std::optional<Unit> find_unit(std::string_view words);

/// Whether one symbol or name, with its prefix, is a unit of the table.
bool is_unit(std::string_view word);

/// Whether what both count may be the same: one says no more than the other.
bool may_count_the_same(const Unit& a, const Unit& b);

}  // namespace rollcall::reward::math
