// What follows a turn of a sequence that decode() samples: its end, tokens from another author, or
// branches of it. Without replies every sequence has one turn.
#pragma once

#include "model/engine/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace rollcall::model {

/// A sequence of decode(): request and number of the sample in it.
struct SequencePlace {
  std::size_t request = 0;
  std::uint32_t sample = 0;
};

/// Another sequence that begins like an existing one.
struct Branch {
  std::uint32_t sample = 0;          ///< its number in the request, unique to it
  std::size_t sampled = 0;           ///< sampled tokens shared with the other sequence
  std::vector<std::int32_t> said{};  ///< tokens that follow without being sampled
  std::int64_t most = 1;             ///< tokens that its next turn may sample
};

struct Reply {
  bool over = true;                  ///< the sequence has ended; `said` and `most` are then ignored
  std::vector<std::int32_t> said{};  ///< tokens to append before it goes on
  std::int64_t most = 1;             ///< tokens that its next turn may sample
  std::vector<Branch> branches{};    ///< branches of it to open first
};

/// Replies to the sequences of one session. A single thread asks for them.
class Replies {
 public:
  virtual ~Replies() = default;
  /// Called when a turn of this sequence has ended; its sampled tokens begin at index `turn` of
  /// `so_far`. Returns nothing if the reply comes later; the session goes on with other sequences.
  virtual std::optional<Reply> after(const SequencePlace& place, const DecodedSequence& so_far,
                                     std::size_t turn) = 0;
  struct Late {
    SequencePlace place;
    Reply reply;
  };
  /// Replies that have arrived. With `waits` there is nothing else to do, so it sleeps until one
  /// arrives, for at most a tenth of a second, because decode() then checks whether to give up.
  virtual std::vector<Late> late(bool waits) = 0;
};

/// Makes the Replies of each session of a decode() call. Called from the session's thread.
using MakeReplies = std::function<std::unique_ptr<Replies>()>;

}  // namespace rollcall::model
