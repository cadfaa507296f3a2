// Numbers of JSON that a double would round: beyond 2^53, or of many digits.
#pragma once

#include <string>
#include <string_view>

namespace rollcall {

/// The number under `key` of the JSON object in `text`, which has one there, with all its digits.
/// "1.50" is "1.5", as a double writes it, where a double holds it.
std::string exact_number(std::string_view text, const std::string& key);

}  // namespace rollcall
