// The normalizers of tokenizer.json, which are steps that rewrite a text before it is split.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A text between two steps. It is not empty when a step begins.
struct Normalized {
  std::string text;
  /// Whether its first character comes from the first character of the original text. Metaspace
  /// with "first" needs to know that.
  bool starts_original = true;
};

using NormalizerStep = std::function<void(Normalized&)>;

/// Supports NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend, ByteLevel, Nmt
/// and Sequence. Throws InputError with name and place for others.
std::vector<NormalizerStep> read_normalizer(const Field& field);

}  // namespace rollcall::text::json_tokenizer
