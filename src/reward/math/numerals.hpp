// Numbers in English words: forty-two, one hundred and five, two and a half, three quarters, half a
// dozen, 1.5 million.
#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <optional>
#include <string_view>

namespace rollcall::reward::math {

struct Numeral {
  mpq_class value;
  std::size_t size = 0;  ///< bytes of the text that it takes
};

/// The longest number in words that a text begins with, in any case.
std::optional<Numeral> numeral_at(std::string_view text);

/// The number that all of a text says in words; none for others.
std::optional<mpq_class> find_numeral(std::string_view text);

/// What a number is multiplied by where this word stands behind it: hundred, million, dozen, pair,
/// half, thirds. None for others.
std::optional<mpq_class> find_multiplier(std::string_view word);

}  // namespace rollcall::reward::math
