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
  std::size_t size = 0;  ///< bytes of the text that it covers
};

/// The longest number in words at the beginning of the text, in upper or lower case.
std::optional<Numeral> numeral_at(std::string_view text);

/// The number that the whole text spells in words; nothing for any other text.
std::optional<mpq_class> find_numeral(std::string_view text);

/// The factor that this word means after a number: hundred, million, dozen, pair, half, thirds.
/// Nothing for any other word.
std::optional<mpq_class> find_multiplier(std::string_view word);

}  // namespace rollcall::reward::math
