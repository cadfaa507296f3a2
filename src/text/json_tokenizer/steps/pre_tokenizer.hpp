// The pre-tokenizers of tokenizer.json: steps that cut a text into words, which the model then
// tokenizes one by one.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A stretch of a text between two cuts; never empty.
struct Piece {
  std::string_view text;
  bool starts_original;  ///< the original text begins with it
};

using Emit = std::function<void(Piece)>;

/// Takes a piece and emits its parts in order; what it emits lives until emit() returns.
using PreTokenizerStep = std::function<void(Piece, const Emit&)>;

struct PreTokenizer {
  std::vector<PreTokenizerStep> steps;
  bool ends_in_bytes = false;  ///< the last step was a ByteLevel whose change of alphabet is left
                               ///< out: words are bytes
};

/// Supported: ByteLevel, Split, Digits, Metaspace, Whitespace, WhitespaceSplit, Punctuation,
/// BertPreTokenizer, FixedLength, Sequence. Others are refused by name and place. With
/// `allow_bytes`, see ends_in_bytes.
PreTokenizer read_pre_tokenizer(const Field& field, bool allow_bytes);

/// Runs all steps over a piece.
void pre_tokenize(const PreTokenizer& tokenizer, Piece piece, const Emit& emit);

}  // namespace rollcall::text::json_tokenizer
