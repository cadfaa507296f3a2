// The content of tokenizer.json. Vocabulary and merges make up nearly all of it and have their own
// tables. The rest is JSON.
#pragma once

#include "base/text/json.hpp"
#include "text/json_tokenizer/fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Document {
  std::string origin;  ///< names the file in messages
  /// Everything except model.vocab and model.merges, which are left out if they have the form that
  /// BPE uses.
  nlohmann::json rest;
  /// model.vocab in file order, as strings and ids.
  std::vector<std::pair<std::string, std::int32_t>> vocab;
  /// model.merges as pairs; "a b" is split at its space.
  std::vector<std::pair<std::string, std::string>> merges;
  bool has_vocab = false, has_merges = false;

  Field root() const { return {rest, "", origin}; }
};

/// Limits the tables by id. The largest known vocabulary has 262,144 tokens.
constexpr std::int64_t kLargestId = (1 << 24) - 1;

/// Throws InputError naming the fault for text that is not JSON or is nested too deeply, and for
/// ids that are out of range.
Document parse_document(const std::string& json, const std::string& origin);

}  // namespace rollcall::text::json_tokenizer
