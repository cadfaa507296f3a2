// JSON numbers that a double would round, because they are beyond 2^53 or have many digits.
#pragma once

#include <string>
#include <string_view>

namespace rollcall {

/// The number under `key` in the JSON object `text`, with all its digits; the object must have it.
/// A number of at most 15 significant digits, which a double keeps, is written like a double:
/// "1.50" becomes "1.5".
std::string exact_number(std::string_view text, const std::string& key);

}  // namespace rollcall
