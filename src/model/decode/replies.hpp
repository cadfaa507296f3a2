// What follows a turn of a sequence that decode() samples: its end, tokens of another author, or
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

/// A further sequence that begins as another one did.
struct Branch {
  std::uint32_t sample = 0;          ///< its number in the request, which no other sequence has
  std::size_t sampled = 0;           ///< sampled tokens that it shares with the other one
  std::vector<std::int32_t> said{};  ///< tokens that then follow and are not sampled
  std::int64_t most = 1;             ///< tokens that its next turn may sample
};

struct Reply {
  bool over = true;                  ///< the sequence has ended; the next two then mean nothing
  std::vector<std::int32_t> said{};  ///< tokens to append before it goes on
  std::int64_t most = 1;             ///< tokens that its next turn may sample
  std::vector<Branch> branches{};    ///< to be made of it first
};

/// The replies to the sequences of one session, which one thread asks for.
class Replies {
 public:
  virtual ~Replies() = default;
  /// A turn of this sequence has ended; its sampled tokens begin at `turn` of `so_far`. Nothing:
  /// the reply comes later, and the session goes on with other sequences.
  virtual std::optional<Reply> after(const SequencePlace& place, const DecodedSequence& so_far,
                                     std::size_t turn) = 0;
  struct Late {
    SequencePlace place;
    Reply reply;
  };
  /// Replies that have come by now. `waits`: nothing else can be done, so it sleeps until one
  /// comes, but at most a tenth of a second, since decode() then looks whether it is given up.
  virtual std::vector<Late> late(bool waits) = 0;
};

/// Makes the replies of each session of a call of decode(). Called from the session's thread.
using MakeReplies = std::function<std::unique_ptr<Replies>()>;

}  // namespace rollcall::model
