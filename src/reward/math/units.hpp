// Units behind a value: which there are, and how they convert.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Unit {
  std::string dimension;  ///< "length^2", "money", ...
  mpq_class factor;       ///< in the base unit of the dimension
};

/// None for words that are no unit known here ("apples").
std::optional<Unit> find_unit(std::string_view words);

}  // namespace rollcall::reward::math
