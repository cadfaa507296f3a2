// Private to the model: whether a decoding session can serve a request.
#pragma once

#include "model/engine/policy.hpp"

namespace rollcall::model {

/// Throws InputError where the model cannot read the prompt, or where the prompt and all tokens that
/// may be sampled exceed the model's positions.
void check_request(const DecodeRequest& request, const ModelConfig& config,
                   const SamplingParams& sampling);

}  // namespace rollcall::model
