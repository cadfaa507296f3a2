// Text that is shown while it is made: only whole characters leave.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Bytes of `text` that more tokens will not change: all but an unfinished UTF-8 character at its
/// end, or the U+FFFD that a decoder puts in its place.
std::size_t settled_bytes(std::string_view text);

/// Deals out the text of growing tokens piece by piece. A token costs the same however many there
/// are: only the last ones are decoded again, since a decoder may do otherwise with the first of a
/// text.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer,
                      Tokenizer::Special special = Tokenizer::Special::skip)
      : tokenizer_(&tokenizer), special_(special) {}
  /// `tokens`: all there are so far. Returns what can be shown now and has not been.
  std::string more(std::span<const std::int32_t> tokens);
  std::string rest(std::span<const std::int32_t> tokens);  ///< at the end

 private:
  std::string upto(std::string_view text, std::size_t end);

  const Tokenizer* tokenizer_;
  Tokenizer::Special special_;
  std::size_t first_ = 0, read_ = 0;  ///< tokens from `first_` are decoded; what stands before
                                      ///< `read_` has been shown
  std::size_t shown_ = 0;             ///< bytes of the text from `first_`
};

}  // namespace rollcall::text
