// Decoding of whole requests on a rank's threads.
#pragma once

#include "model/decode/decode_session.hpp"

#include <functional>
#include <span>
#include <vector>

namespace rollcall::model {

/// keys and values of one call of decode(), unless it is given another bound
constexpr std::int64_t kMostCacheBytes = std::int64_t(1) << 29;
/// a bound that leaves it to the device's memory
constexpr std::int64_t kAllOfADevice = std::int64_t(1) << 60;

/// What decoding may use. Bits do not depend on it.
struct DecodeOptions {
  int threads = 1;
  std::int64_t cache_bytes = kMostCacheBytes;  ///< bound of the keys and values held; one sequence
                                               ///< a session always has room
  SideBySide side_by_side = on_new_threads;    ///< where the threads come from
  /// Asked before every batch of tokens, from any of the threads: whether nobody wants the samples
  /// any
  /// more. Those that have not ended are then empty.
  std::function<bool()> given_up{};
  std::function<void()> ended{};  ///< called once for each sample that has ended, from any of the
                                  ///< threads
};

/// Samples all requests in one session for all threads, which share every operation, or where the
/// weights fit a core's cache in one for each. Samples that end make room for waiting ones of any
/// request. Result [request][sample]; bits do not depend on what is decoded together. Throws
/// InputError when prompt + max_new_tokens exceed max_position_embeddings, ConfigError.
std::vector<std::vector<DecodedSequence>> decode(const PolicyModel& policy,
                                                 std::span<const DecodeRequest> requests,
                                                 const SamplingParams& sampling,
                                                 const StopRules& stops,
                                                 const DecodeOptions& options = {});

/// What decode() makes of `threads` threads for a policy with so many bytes of packed weights.
struct DecodeShape {
  int sessions;
  std::int64_t live_rows;  ///< of each
};
DecodeShape decode_shape(std::int64_t packed_bytes, int threads);

}  // namespace rollcall::model
