// Text to numbers as Python's int() and float() read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rollcall::text::jinja {

std::optional<std::int64_t> whole_of(std::string_view text, std::int64_t base);  ///< none: ValueError. Throws beyond 64 bits
std::optional<double> real_of(std::string_view text);                            ///< none: ValueError
double rounded_real(double value, std::int64_t precision);                       ///< round(): halves of the exact decimal value to even

}  // namespace rollcall::text::jinja
