// The pre-tokenizers of tokenizer.json, which are steps that cut text into words. The model then
// tokenizes each word separately.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A stretch of a text between two cuts. It is not empty.
struct Piece {
  std::string_view text;
  bool starts_original;  ///< whether it is the beginning of the original text
};

using Emit = std::function<void(Piece)>;

/// Cuts a piece and emits its parts in order. The text of a part lives until emit() returns.
using PreTokenizerStep = std::function<void(Piece, const Emit&)>;

struct PreTokenizer {
  std::vector<PreTokenizerStep> steps;
  /// Whether the last step was a ByteLevel that does not change the alphabet, so that words are
  /// bytes.
  bool ends_in_bytes = false;
};

/// Supports ByteLevel, Split, Digits, Metaspace, Whitespace, WhitespaceSplit, Punctuation,
/// BertPreTokenizer, FixedLength and Sequence. Throws InputError with name and place for others.
/// `allow_bytes`: the result may have ends_in_bytes.
PreTokenizer read_pre_tokenizer(const Field& field, bool allow_bytes);

/// Runs all steps over a piece.
void pre_tokenize(const PreTokenizer& tokenizer, Piece piece, const Emit& emit);

}  // namespace rollcall::text::json_tokenizer
