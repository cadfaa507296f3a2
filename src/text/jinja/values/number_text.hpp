// Reads numbers from strings as Python's int() and float() do.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rollcall::text::jinja {

/// Nothing if int() raises ValueError. Throws Fault for a number beyond 64 bits.
std::optional<std::int64_t> whole_of(std::string_view text, std::int64_t base);
std::optional<double> real_of(std::string_view text);  ///< nothing if float() raises ValueError
/// Python's round() to a number of decimals. If the exact decimal value is a half, the last digit
/// becomes even.
double rounded_real(double value, std::int64_t precision);

}  // namespace rollcall::text::jinja
