// Text to numbers as Python's int() and float() read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rollcall::text::jinja {

/// none: ValueError. Throws beyond 64 bits
std::optional<std::int64_t> whole_of(std::string_view text, std::int64_t base);
std::optional<double> real_of(std::string_view text);  ///< none: ValueError
/// round(): halves of the exact decimal value to even
double rounded_real(double value, std::int64_t precision);

}  // namespace rollcall::text::jinja
