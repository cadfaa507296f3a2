// Text that is shown while it is made: only whole characters leave.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Bytes of `text` that more tokens will not change: all but an unfinished UTF-8 character at its end, or the U+FFFD that a decoder puts in its place.
std::size_t settled_bytes(std::string_view text);

/// Deals out a growing text piece by piece.
class TextStream {
 public:
  /// `text`: all there is so far. Returns what can be shown now and has not been.
  std::string more(std::string_view text) { return upto(text, settled_bytes(text)); }
  std::string rest(std::string_view text) { return upto(text, text.size()); }  ///< at the end

 private:
  std::string upto(std::string_view text, std::size_t end) {
    if (end <= shown_) return {};
    const std::string piece(text.substr(shown_, end - shown_));
    shown_ = end;
    return piece;
  }
  std::size_t shown_ = 0;
};

}  // namespace rollcall::text
