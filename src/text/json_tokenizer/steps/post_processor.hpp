// The post-processors of tokenizer.json: which tokens stand around a sequence.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Surroundings {
  std::vector<std::int32_t> before, after;
};

/// Supported: TemplateProcessing (its `single`, which must hold the sequence once), ByteLevel,
/// BertProcessing, RobertaProcessing, Sequence with at most one of them that adds tokens. Others
/// are refused by name and place.
Surroundings read_post_processor(const Field& field);

}  // namespace rollcall::text::json_tokenizer
