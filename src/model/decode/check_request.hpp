// Private to the model: whether a decoding session can serve a request or continue a sequence.
#pragma once

#include "model/engine/policy.hpp"

#include <cstdint>
#include <span>

namespace rollcall::model {

/// Throws InputError if the model cannot read the prompt, or if the prompt plus the tokens that its
/// first turn may sample exceeds the model's positions.
void check_request(const DecodeRequest& request, const ModelConfig& config,
                   const SamplingParams& sampling);
/// The most tokens that the first turn of a request may sample.
std::int64_t first_turn_limit(const DecodeRequest& request, const SamplingParams& sampling);
/// Requires that a sequence of `length` tokens can continue: the tokens in `said` are in the
/// vocabulary, at least one token may be sampled after them, and all of it fits the model's
/// positions.
void expect_room(std::int64_t length, std::span<const std::int32_t> said, std::int64_t most,
                 const ModelConfig& config);

}  // namespace rollcall::model
