// The questions that scoring asks the judge model: a shard goes in with the verifier's scores, and
// comes out with one more component of the reward when all judgements have come.
#pragma once

#include "base/time/clock.hpp"
#include "run/messages/mailbox.hpp"
#include "run/scoring/command_scoring.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

class JudgeQuestions {
 public:
  JudgeQuestions(const RunContext& context, Mailbox& mail) : context_(&context), mail_(&mail) {}

  /// Sends the questions of a shard: to this rank where it hosts a judge, otherwise to the rank
  /// that the content of each answer selects. Returns the shard at once where there is nothing to
  /// ask, because the verifier came to no verdict or judge.asked leaves the answers out.
  std::optional<GradedShard> ask(GradedShard shard);
  /// Takes a reply in, and returns the shard if that was its last one.
  std::optional<GradedShard> take(const JudgeReply& reply);

 private:
  using Place = std::pair<std::size_t, std::size_t>;  ///< group and rollout
  struct Open {
    GradedShard shard;
    std::size_t replies = 0;  ///< replies that have not come yet
    Stopwatch clock;
  };
  struct Sent {
    std::uint64_t shard;
    std::vector<Place> places;  ///< [questions of the request] the answer that each asks about
  };
  void set(GradedShard& shard, const Place& place, const Judgement& judgement) const;

  const RunContext* context_;
  Mailbox* mail_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Open> open_;
  std::map<std::uint64_t, Sent> sent_;  ///< requests without a reply, by JudgeRequest::id
};

}  // namespace rollcall::run
