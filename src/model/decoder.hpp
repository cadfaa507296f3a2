// Decoding of whole requests on a rank's threads.
#pragma once

#include "model/decode_session.hpp"

#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

constexpr std::int64_t kMostCacheBytes = std::int64_t(1) << 29;  ///< keys and values of a decoder, unless it is given another bound

/// What decoding may use. Bits do not depend on it.
struct DecodeOptions {
  int threads = 1;
  std::int64_t cache_bytes = kMostCacheBytes;  ///< bound of the keys and values held; one sequence always has room
  SideBySide side_by_side = on_new_threads;    ///< where the threads come from
};

/// One session for all threads, which share every operation; where the weights fit a core's cache one session for each. Samples that end make room for waiting
/// ones of any request. Keeps its memory from call to call. For policies of one shape.
class Decoder {
 public:
  explicit Decoder(DecodeOptions options) : options_(std::move(options)) {}

  /// Samples all requests. Result [request][sample]. Bits do not depend on what is decoded together. Throws InputError when prompt + max_new_tokens exceed
  /// max_position_embeddings, ConfigError.
  std::vector<std::vector<DecodedSequence>> decode(const Policy& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling,
                                                   const StopRules& stops);

  /// Whether each thread has a session of its own.
  static bool apart(const Policy& policy);
  static constexpr std::int64_t kOwnLiveRows = 64;  ///< of a thread's own session: their activations, keys and values fit its cache, too

 private:
  struct Own {
    std::unique_ptr<Team> team;
    std::unique_ptr<DecodeSession> session;
  };
  Own& session(std::size_t index, const Policy& policy, const SamplingParams& sampling, std::size_t sessions);

  DecodeOptions options_;
  std::vector<Own> sessions_;
};

/// The same with a decoder for this call.
std::vector<std::vector<DecodedSequence>> decode(const Policy& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling,
                                                 const StopRules& stops, const DecodeOptions& options = {});

}  // namespace rollcall::model
