// Decoding of whole requests on a rank's threads.
#pragma once

#include "model/decode/decode_session.hpp"
#include "model/decode/replies.hpp"

#include <functional>
#include <span>
#include <vector>

namespace rollcall::model {

/// Bound of the bytes of keys and values in one call of decode(), unless the caller sets another.
constexpr std::int64_t kMostCacheBytes = std::int64_t(1) << 29;
/// A bound so high that only the memory of a device limits the keys and values.
constexpr std::int64_t kAllOfADevice = std::int64_t(1) << 60;

/// The resources of decoding. The results do not depend on them by a bit.
struct DecodeOptions {
  int threads = 1;
  /// Bound of the bytes of keys and values. One sequence per session always has room.
  std::int64_t cache_bytes = kMostCacheBytes;
  SideBySide side_by_side = on_new_threads;  ///< where the threads come from
  /// Called before every step, from any of the threads. Returning true ends decoding, and samples
  /// that have not ended by then are left empty.
  std::function<bool()> given_up{};
  /// Called once for each sample that has ended, from any of the threads.
  std::function<void()> ended{};
  /// What follows each turn; empty: a sequence ends with its first one.
  MakeReplies replies{};
};

/// Samples all requests. Returns them as [request][sample]. All threads share the operations of one
/// session, unless the weights fit a core's cache. Then each thread has a session of its own.
/// Samples that end make room for waiting ones of any request. The bits do not depend on what is
/// decoded together, or on when replies come. A sample that is forked from others is empty where no
/// reply made it. Throws InputError when a prompt and the tokens that its first turn may sample
/// exceed max_position_embeddings, and ConfigError for settings that cannot sample.
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
