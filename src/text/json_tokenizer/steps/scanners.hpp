// Hand-written scanners for the patterns that most byte-level models use to split text. They are
// several times faster than a regular expression engine.
#pragma once

#include <cstddef>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// The end of the match that begins at byte `at`, which is less than the text's size. These
/// patterns match at every position of any text.
using Scanner = std::size_t (*)(std::string_view text, std::size_t at);

struct KnownPattern {
  const char* name;
  const char* source;  ///< the expression in tokenizer.json
  Scanner scan;
};

/// The first one is GPT-2's, which the pre-tokenizer ByteLevel uses.
extern const KnownPattern kKnownPatterns[4];

Scanner scanner_of(std::string_view source);  ///< null if there is no scanner for it

}  // namespace rollcall::text::json_tokenizer
