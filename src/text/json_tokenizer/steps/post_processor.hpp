// The post-processors of tokenizer.json, which say which tokens are put around a sequence.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Surroundings {
  std::vector<std::int32_t> before, after;
};

/// Supports TemplateProcessing (its `single`, which must have the sequence once), ByteLevel,
/// BertProcessing, RobertaProcessing, and Sequence in which at most one of them adds tokens. Throws
/// InputError with name and place for others.
Surroundings read_post_processor(const Field& field);

}  // namespace rollcall::text::json_tokenizer
