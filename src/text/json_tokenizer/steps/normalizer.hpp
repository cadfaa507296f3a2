// The normalizers of tokenizer.json: steps that rewrite a text before it is split.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A text on its way; never empty when a step begins.
struct Normalized {
  std::string text;
  bool starts_original = true;  ///< its first character stands for the first of the original
                                ///< (Metaspace with "first" asks)
};

using NormalizerStep = std::function<void(Normalized&)>;

/// Supported: NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend, ByteLevel,
/// Nmt, Sequence. Others are refused by name and place.
std::vector<NormalizerStep> read_normalizer(const Field& field);

}  // namespace rollcall::text::json_tokenizer
