// JSON whose numbers keep their value: what neither 64-bit integers nor doubles of 15 digits hold
// stands as its digits.
#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>

namespace rollcall::reward {

/// As parse_foreign_value, with one form for each number: an integer where 64 bits hold it (7.0 is
/// 7), else a double where it has up to 15 digits, else a binary value, which JSON does not have
/// otherwise, of its digits and exponent. So equal values are equal numbers, and others are not.
nlohmann::json parse_exact(std::string_view text, std::string& fault);

bool is_number(const nlohmann::json& value);
bool is_integer(const nlohmann::json& value);
int order(const nlohmann::json& a, const nlohmann::json& b);  ///< of numbers: -1, 0, 1
std::string written(const nlohmann::json& value);             ///< as JSON without spaces

}  // namespace rollcall::reward
