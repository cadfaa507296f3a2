// Decoding of whole requests on a rank's threads.
#pragma once

#include "model/decode/decode_session.hpp"
#include "model/decode/replies.hpp"

#include <functional>
#include <span>
#include <vector>

namespace rollcall::model {

/// Default bound on the bytes of keys and values in one decode() call.
constexpr std::int64_t kMostCacheBytes = std::int64_t(1) << 29;
/// A bound that is never reached, so that only a device's memory limits the keys and values.
constexpr std::int64_t kAllOfADevice = std::int64_t(1) << 60;

/// The resources that decoding may use. They do not change a bit of the results.
struct DecodeOptions {
  int threads = 1;
  /// Bound on the bytes of keys and values. One sequence per session always has room.
  std::int64_t cache_bytes = kMostCacheBytes;
  SideBySide side_by_side = on_new_threads;  ///< where the threads come from
  /// Called before every step, from any thread. Returning true ends decoding and leaves unfinished
  /// samples empty.
  std::function<bool()> given_up{};
  /// Called once for each finished sample, from any thread.
  std::function<void()> ended{};
  /// What follows each turn. If empty, a sequence ends with its first turn.
  MakeReplies replies{};
};

/// Samples all requests and returns [request][sample]. All threads share the operations of one
/// session, unless the weights fit in a core's cache; then each thread has its own session. When a
/// sample ends, a waiting one from any request takes its place. The bits do not depend on which
/// samples are decoded together, or on when replies arrive. A sample that should be forked from
/// another is empty if no reply created it. Throws InputError if a prompt plus the tokens that its
/// first turn may sample exceeds max_position_embeddings, and ConfigError for settings that cannot
/// sample.
std::vector<std::vector<DecodedSequence>> decode(const PolicyModel& policy,
                                                 std::span<const DecodeRequest> requests,
                                                 const SamplingParams& sampling,
                                                 const StopRules& stops,
                                                 const DecodeOptions& options = {});

/// How decode() uses `threads` threads for a policy whose packed weights take `packed_bytes`.
struct DecodeShape {
  int sessions;
  std::int64_t live_rows;  ///< sequences that advance together in each session
};
DecodeShape decode_shape(std::int64_t packed_bytes, int threads);

}  // namespace rollcall::model
