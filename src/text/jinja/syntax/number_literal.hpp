// Number literals, as Jinja's lexer reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rollcall::text::jinja {

struct NumberLiteral {
  std::size_t length = 0;  ///< bytes of the source
  bool is_real = false;
  std::int64_t integer = 0;  ///< 0 for a real number
  double real = 0;           ///< 0 for an integer
  bool too_large = false;    ///< an integer beyond 64 bits, whose value is not stored
};

/// The number at the beginning of `source`, which begins with a digit. Single underscores may
/// separate digits, and integers may be binary, octal or hexadecimal. `after_point`: the previous
/// byte is a point, after which only integers are numbers, as in "a.0.1".
NumberLiteral number_literal(std::string_view source, bool after_point);

}  // namespace rollcall::text::jinja
