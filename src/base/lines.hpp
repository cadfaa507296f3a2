// Standard input and other streams that may never end: lines, and all of it, up to a limit that has
// a name.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace rollcall {

// bytes; an answer of 10^6 tokens has about 5 MB
inline constexpr std::size_t kLongestLine = std::size_t{64} << 20;
// bytes of what is read as a whole
inline constexpr std::size_t kLongestInput = std::size_t{256} << 20;

/// std::getline. Throws InputError where the line is longer than kLongestLine; `what` names the
/// stream in the message.
bool next_line(std::istream& in, std::string& line, std::string_view what = "standard input");

/// Everything up to the end. Throws InputError where that is more than kLongestInput.
std::string read_all(std::istream& in, std::string_view what = "standard input");

}  // namespace rollcall
