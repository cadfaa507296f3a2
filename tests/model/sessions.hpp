// What tests of decode sessions have in common.
#pragma once

#include "model/decode/decode_session.hpp"
#include "model/engine/packed_policy.hpp"
#include "model/small_models.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::model::testing {

using Id = DecodeSession::Id;
using Tokens = std::vector<std::int32_t>;

/// Room for prompts of several pages and several pieces; a vocabulary in which sequences seldom end
/// by themselves.
inline ModelConfig long_config() {
  ModelConfig config = small_config(Family::qwen3);
  config.max_position_embeddings = 2048;
  config.vocab_size = 300;
  return config;
}

inline Tokens random_prompt(const ModelConfig& config, std::int64_t length, std::uint64_t seed) {
  return random_micro_batch(config, {length}, seed).tokens;
}

inline std::int64_t page_bytes(const PolicyModel& policy) {
  return policy.config().num_hidden_layers * page_shape(policy.packed()).bytes();
}

inline void run_out(DecodeSession& session, const PolicyModel& policy) {
  while (!session.idle()) session.advance(policy);
}

}  // namespace rollcall::model::testing
