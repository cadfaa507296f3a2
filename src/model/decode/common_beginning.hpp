// Private to the model: what prompts and live sequences of a decoding session have in common.
#pragma once

#include "model/decode/live_sequences.hpp"
#include "model/decode/prompt_prefixes.hpp"

#include <cstdint>

namespace rollcall::model {

/// Positions in common with another prompt that are worth copying, or worth waiting for.
inline constexpr std::int64_t kLeastShared = 16;

/// What a prompt has in common with prompts that have begun.
struct CommonBeginning {
  const KvPages* kv = nullptr;  ///< pages with the most of it, or null where that is too little
  std::int64_t computed = 0;    ///< positions of the prompt that are computed in them
  std::int64_t soon = 0;        ///< the most positions that any of the others will have computed
};

/// The longest beginning that a prompt shares with one that has begun. The prompt's last token does
/// not count, because its hidden state has to be computed.
CommonBeginning common_beginning(const PromptPrefix& prefix, const PromptPrefixes& prompts,
                                 const LiveSequences& live);

/// The number of first positions that two neighbours have computed and that hold the same tokens.
std::int64_t alike_positions(const SharedSequence& a, const SharedSequence& b);

}  // namespace rollcall::model
