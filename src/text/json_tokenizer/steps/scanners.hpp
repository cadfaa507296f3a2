// The patterns that most byte-level models split with, as scanners written by hand: several times
// faster than a regular expression engine.
#pragma once

#include <cstddef>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// End of the match that begins at `at` (< size). These patterns match at every position of any
/// text.
using Scanner = std::size_t (*)(std::string_view text, std::size_t at);

struct KnownPattern {
  const char* name;
  const char* source;  ///< as it stands in tokenizer.json
  Scanner scan;
};

/// GPT-2's, which the pre-tokenizer ByteLevel has built in, first.
extern const KnownPattern kKnownPatterns[4];

Scanner scanner_of(std::string_view source);  ///< null: none was written

}  // namespace rollcall::text::json_tokenizer
