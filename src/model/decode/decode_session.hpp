// Decoding as a session: sequences are opened, advance together, may be continued with others'
// tokens or paused over a change of weights, and are taken.
#pragma once

#include "base/random.hpp"
#include "model/engine/policy.hpp"
#include "model/support/team.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// Samples sequences of policies of one shape. Nothing of a sequence depends on what else is open,
/// on the order of calls or on memory: rows are independent, draws are addressed, and what had to
/// make room is computed again with the same bits. Sequences of a prompt
/// that have drawn the same tokens are run and held once, as what different prompts begin with
/// alike is. Where there is room for more sequences than advance together, they take turns, those
/// with the fewest tokens first: lengths are not known beforehand, and so no few long ones are left
/// over at the end.
class DecodeSession {
 public:
  using Id = std::uint64_t;

  static constexpr std::int64_t kLiveRows = 256;  ///< sequences that advance together, unless fewer
                                                  ///< are asked for
  static constexpr std::int64_t kTurns = 8;  ///< so many times as many take turns, where there is
                                             ///< room for all up to their limits
  static constexpr std::int64_t kPrefillRows = 512;  ///< tokens that need no draw, a step: prompts
                                                     ///< and others' tokens are run in pieces
                                                     ///< beside the live rows

  /// For policies of the shape of this one, whose operations `team` shares; it leads while the
  /// session advances. `cache_bytes` bounds the keys and values held; one sequence always has room.
  /// Throws ConfigError.
  DecodeSession(const PolicyModel& policy, const SamplingParams& sampling, Team& team,
                std::int64_t cache_bytes, std::int64_t live_rows = kLiveRows);
  ~DecodeSession();
  DecodeSession(const DecodeSession&) = delete;
  DecodeSession& operator=(const DecodeSession&) = delete;
  /// Bytes of a session's scratch memory, beside its keys and values.
  static std::int64_t scratch_bytes(const ModelConfig& config, std::int64_t live_rows = kLiveRows);

  /// Samples [first, first + count) of a request wait for their turn; their ids ascend from the one
  /// returned. `stops` makes a rule for each
  /// turn of each, which sees the sampled tokens of its turn.
  /// Throws InputError when prompt + max_new_tokens exceed max_position_embeddings.
  Id open(const DecodeRequest& request, std::uint32_t first, std::uint32_t count,
          const StopRules& stops);

  /// One step: a token for every sequence whose tokens are all run, a piece of those that are not.
  /// Returns the sequences whose turn ended: by an end token, the stop rule or the limit. `policy`
  /// may be of another version than before; what was computed under that one is computed again, so
  /// that each log-prob is one version's alone and a training forward can repeat it.
  std::vector<Id> advance(const PolicyModel& policy);

  bool idle() const;                ///< nothing waits and nothing advances
  std::int64_t unfinished() const;  ///< sequences that wait or advance
  std::int64_t advancing() const;   ///< those that advance in a step: each draws a token, or runs a
                                    ///< piece of its own tokens
  std::int64_t cache_bytes() const;  ///< keys and values held now

  /// A sequence whose turn ended, or that is paused, goes on behind `tokens`, which are not the
  /// policy's. Its limit counts sampled tokens only.
  void append(Id id, std::span<const std::int32_t> tokens);
  void pause(Id id);   ///< keeps its place and, while there is room, its keys and values
  void resume(Id id);  ///< of a paused one
  const DecodedSequence& at(Id id) const;
  DecodedSequence take(Id id);  ///< closes it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::model
