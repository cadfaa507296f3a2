// tokenizer.json as read: the vocabulary and the merges in tables of their own, since they are
// nearly all of it, the rest as JSON.
#pragma once

#include "base/json.hpp"
#include "text/json_tokenizer/fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Document {
  std::string origin;
  nlohmann::json rest;  ///< without model.vocab and model.merges where those have the form of BPE
  /// model.vocab, in the order of the file
  std::vector<std::pair<std::string, std::int32_t>> vocab;
  /// model.merges; "a b" is split into its pair
  std::vector<std::pair<std::string, std::string>> merges;
  bool has_vocab = false, has_merges = false;

  Field root() const { return {rest, "", origin}; }
};

constexpr std::int64_t kLargestId = (1 << 24) - 1;  ///< far above real vocabularies (262,144 is the
                                                    ///< largest known); bounds the tables by id

/// Throws InputError naming the fault: no JSON, nested too deep, ids out of range.
Document parse_document(const std::string& json, const std::string& origin);

}  // namespace rollcall::text::json_tokenizer
