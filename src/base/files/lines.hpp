// Reads standard input and other streams that may never end, by line or as a whole, up to a limit.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace rollcall {

// bytes; an answer of 10^6 tokens has about 5 MB
inline constexpr std::size_t kLongestLine = std::size_t{64} << 20;
// bytes of a stream that is read as a whole
inline constexpr std::size_t kLongestInput = std::size_t{256} << 20;

/// Like std::getline. Throws InputError if the line is longer than kLongestLine; `what` names the
/// stream in the message.
bool next_line(std::istream& in, std::string& line, std::string_view what = "standard input");

/// Everything up to the end of the stream. Throws InputError if that is more than kLongestInput.
std::string read_all(std::istream& in, std::string_view what = "standard input");

}  // namespace rollcall
