// Decoding as a session. Sequences are opened, advance together and are taken when they have ended.
// They may be continued with tokens from another author, and paused across a change of weights.
#pragma once

#include "base/numbers/random.hpp"
#include "model/engine/policy.hpp"
#include "model/support/team.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// Samples sequences from policies of one shape. A sequence's tokens and bits do not depend on
/// which other sequences are open, on the order of calls or on memory. Rows are independent, random
/// numbers are addressed, and a cache that was given up for others is recomputed with the same
/// bits.
///
/// Sequences of one prompt that have sampled the same tokens are computed and cached once, and so
/// is a common beginning of different prompts. If memory has room for more sequences than can
/// advance together, they take turns, and those with the fewest tokens go first. Lengths are not
/// known in advance, and taking turns avoids a few long sequences being left over at the end.
class DecodeSession {
 public:
  using Id = std::uint64_t;

  /// Sequences that advance together, unless the caller asks for fewer.
  static constexpr std::int64_t kLiveRows = 256;
  /// Up to kTurns times that number take turns, if all of them have room to grow to their limits.
  static constexpr std::int64_t kTurns = 8;
  /// Tokens per step that are computed but not sampled from. Prompts and appended tokens are
  /// computed in pieces alongside the live rows.
  static constexpr std::int64_t kPrefillRows = 512;

  /// For policies of the same shape as this one. `team` shares each operation; the calling thread
  /// must lead it while the session advances. `cache_bytes` bounds the memory for keys and values,
  /// except that one sequence always has room. Throws ConfigError for sampling settings that cannot
  /// sample.
  DecodeSession(const PolicyModel& policy, const SamplingParams& sampling, Team& team,
                std::int64_t cache_bytes, std::int64_t live_rows = kLiveRows);
  ~DecodeSession();
  DecodeSession(const DecodeSession&) = delete;
  DecodeSession& operator=(const DecodeSession&) = delete;
  /// Bytes of a session's scratch memory, without its keys and values.
  static std::int64_t scratch_bytes(const ModelConfig& config, std::int64_t live_rows = kLiveRows);

  /// Opens the samples [first, first + count) of a request, which then wait for room. Returns the
  /// first id; the others follow in ascending order. `stops` makes a stop rule for each turn of
  /// each sample, which reads the tokens sampled in its turn. Throws InputError when the prompt and
  /// the tokens that its first turn may sample exceed max_position_embeddings.
  Id open(const DecodeRequest& request, std::uint32_t first, std::uint32_t count,
          const StopRules& stops);

  /// Runs one step. It computes tokens of the live sequences, and only some of them where a
  /// sequence has many left. Then it samples the next token of each sequence that has no tokens
  /// left to compute. Returns the sequences whose turn was ended by an end token, the stop rule or
  /// the limit. `policy` may have a different version than before. All keys and values are then
  /// recomputed, so that each log-prob comes from one version only and a training forward can
  /// repeat it.
  std::vector<Id> advance(const PolicyModel& policy);

  bool idle() const;                 ///< whether no sequence waits or advances
  std::int64_t unfinished() const;   ///< sequences that wait or advance
  std::int64_t advancing() const;    ///< sequences that advance in a step
  std::int64_t cache_bytes() const;  ///< bytes of the keys and values now held

  /// Tokens of prompts and sequences computed so far, recomputation included.
  std::int64_t computed_tokens() const;

  /// Appends tokens that the policy did not sample to a sequence whose turn ended or that is
  /// paused. The sequence waits for its next turn. Its limit counts sampled tokens only. Throws
  /// InputError if it may sample no further token or would exceed the model's positions.
  void append(Id id, std::span<const std::int32_t> tokens);
  /// The same, but the next turn may sample `most` tokens (at least 1), however many the sequence
  /// has sampled before. The caller has made sure that they fit the model's positions.
  void append(Id id, std::span<const std::int32_t> tokens, std::int64_t most);
  /// Opens a sequence that begins with the same tokens as another open one. They share its prompt,
  /// its first `sampled` sampled tokens, and all tokens that were appended between those. `said` is
  /// appended next, and the turn after it may sample `most` tokens. The random numbers are those of
  /// `sample` in the same request, from index `sampled` on. Keys and values are shared, and
  /// recomputed if they are gone. The result begins with copies of the shared columns. If `said` is
  /// empty and the shared tokens stop within a turn, the new sequence continues that turn.
  Id fork(Id of, std::size_t sampled, std::uint32_t sample, std::span<const std::int32_t> said,
          std::int64_t most);
  /// Stops a sequence that waits or advances. It keeps its keys and values while there is room.
  void pause(Id id);
  void resume(Id id);  ///< lets a paused sequence wait for its turn again
  const DecodedSequence& at(Id id) const;
  /// Sampled tokens before a sequence's current turn, or before its last turn once that has ended.
  std::size_t turn(Id id) const;
  DecodedSequence take(Id id);  ///< closes a sequence and returns what it sampled

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::model
