// Private to the model: finds the beginnings that prompts and live sequences of a decoding session
// share.
#pragma once

#include "model/decode/live_sequences.hpp"
#include "model/decode/prompt_prefixes.hpp"

#include <cstdint>

namespace rollcall::model {

/// The fewest positions shared with another prompt that are worth copying or waiting for.
inline constexpr std::int64_t kLeastShared = 16;

/// The beginning that a prompt shares with prompts that have begun.
struct CommonBeginning {
  const KvPages* kv = nullptr;  ///< the pages of the longest common beginning that is computed, or
                                ///< null if it is shorter than kLeastShared
  std::int64_t computed = 0;    ///< positions of the prompt that are already computed in `kv`
  std::int64_t soon = 0;        ///< the longest beginning shared with any of these prompts,
                                ///< computed or about to be
};

/// The longest beginning that a prompt shares with one that has begun. The prompt's last token does
/// not count, because its hidden state has to be computed.
CommonBeginning common_beginning(const PromptPrefix& prefix, const PromptPrefixes& prompts,
                                 const LiveSequences& live);

/// The number of leading positions that two neighbours have both computed from the same tokens.
std::int64_t alike_positions(const SharedSequence& a, const SharedSequence& b);

}  // namespace rollcall::model
