// JSON with numbers that keep their exact value: a number that fits neither a 64-bit integer nor a
// double of 15 digits is kept as its digits.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>

namespace rollcall::reward {

/// Like parse_foreign_value(), but each number has one form: an integer if 64 bits hold it (7.0 is
/// 7), else a double if it has up to 15 digits, else a binary value (which JSON itself does not
/// have) with its digits and exponent. So two numbers compare equal if and only if their values are
/// equal.
nlohmann::json parse_exact(std::string_view text, std::string& fault);

bool is_number(const nlohmann::json& value);
bool is_integer(const nlohmann::json& value);
int order(const nlohmann::json& a, const nlohmann::json& b);  ///< compares two numbers: -1, 0 or 1
std::string written(const nlohmann::json& value);             ///< as JSON without spaces

}  // namespace rollcall::reward
