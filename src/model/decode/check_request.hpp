// Private to the model: whether a decoding session can serve a request, or go on with a sequence.
#pragma once

#include "model/engine/policy.hpp"

#include <cstdint>
#include <span>

namespace rollcall::model {

/// Throws InputError where the model cannot read the prompt, or where the prompt and all tokens that
/// its first turn may sample exceed the model's positions.
void check_request(const DecodeRequest& request, const ModelConfig& config,
                   const SamplingParams& sampling);
/// Tokens that the first turn of a request may sample.
std::int64_t first_turn_limit(const DecodeRequest& request, const SamplingParams& sampling);
/// Expects that a sequence of `length` tokens can go on: that what others say is in the vocabulary,
/// that at least one token may be sampled after it, and that all of it fits the model's positions.
void expect_room(std::int64_t length, std::span<const std::int32_t> said, std::int64_t most,
                 const ModelConfig& config);

}  // namespace rollcall::model
