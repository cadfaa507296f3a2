// What can follow a turn of a sequence in decode(): the sequence ends, tokens from another author
// are appended, or it branches. Without replies every sequence has one turn.
#pragma once

#include "model/engine/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace rollcall::model {

/// Identifies a sequence in decode() by its request and its sample number in that request.
struct SequencePlace {
  std::size_t request = 0;
  std::uint32_t sample = 0;
};

/// A new sequence that begins with the same tokens as an existing one.
struct Branch {
  std::uint32_t sample = 0;          ///< its number in the request, unique to it
  std::size_t sampled = 0;           ///< sampled tokens shared with the other sequence
  std::vector<std::int32_t> said{};  ///< tokens that follow without being sampled
  std::int64_t most = 1;             ///< tokens that its next turn may sample
};

struct Reply {
  bool over = true;                  ///< the sequence has ended; `said` and `most` are then ignored
  std::vector<std::int32_t> said{};  ///< tokens to append before it continues
  std::int64_t most = 1;             ///< tokens that its next turn may sample
  std::vector<Branch> branches{};    ///< its branches, which are opened first
};

/// The replies to the sequences of one session. Only one thread asks for them.
class Replies {
 public:
  virtual ~Replies() = default;
  /// Called when a turn of this sequence has ended; its sampled tokens begin at index `turn` of
  /// `so_far`. Returns nothing if the reply will come later, and the session continues with other
  /// sequences.
  virtual std::optional<Reply> after(const SequencePlace& place, const DecodedSequence& so_far,
                                     std::size_t turn) = 0;
  struct Late {
    SequencePlace place;
    Reply reply;
  };
  /// Returns the replies that have arrived. With `waits`, which means that there is nothing else to
  /// do, it sleeps until one arrives. It sleeps for at most a tenth of a second, because decode()
  /// then checks whether to give up.
  virtual std::vector<Late> late(bool waits) = 0;
};

/// Makes the Replies of each session of a decode() call. Called from the session's thread.
using MakeReplies = std::function<std::unique_ptr<Replies>()>;

}  // namespace rollcall::model
