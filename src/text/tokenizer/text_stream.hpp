// Returns the text of tokens while they are sampled, in whole characters.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rollcall::text {

/// The number of bytes of `text` that later tokens will not change. These are all bytes except an
/// unfinished UTF-8 character at the end, or the U+FFFD that a decoder puts in its place.
std::size_t settled_bytes(std::string_view text);

/// Where `mark` stands in a growing text, at `from` or later, or where the text ends with the
/// beginning of the mark. The text's size if neither is there. `mark` is not empty.
std::size_t find_growing(std::string_view text, std::string_view mark, std::size_t from = 0);

/// Gives out the text of a growing list of tokens piece by piece. The cost per token does not grow
/// with the list, because only its last tokens are decoded again. A few old ones are among them,
/// since a decoder may treat the first token of a text differently.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer,
                      Tokenizer::Special special = Tokenizer::Special::skip)
      : tokenizer_(&tokenizer), special_(special) {}
  /// The text that can be shown now and has not been shown before. `tokens` are all tokens so far.
  std::string more(std::span<const std::int32_t> tokens);
  /// The text that is left when there are no more tokens.
  std::string rest(std::span<const std::int32_t> tokens);

 private:
  std::string upto(std::string_view text, std::size_t end);

  const Tokenizer* tokenizer_;
  Tokenizer::Special special_;
  std::size_t first_ = 0;  // index of the first token that is decoded again
  std::size_t read_ = 0;   // index of the first token whose text was not shown completely
  std::size_t shown_ = 0;  // bytes of the text from token `first_` on that were shown
};

}  // namespace rollcall::text
