// The questions that scoring asks the judge model: a shard goes in with the verifier's scores, and
// comes out with one more component of the reward when all judgements have come.
#pragma once

#include "base/time/clock.hpp"
#include "run/messages/mailbox.hpp"
#include "run/scoring/command_scoring.hpp"
#include "run/scoring/comparisons.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rollcall::run {

struct RunContext;

class JudgeQuestions {
 public:
  JudgeQuestions(const RunContext& context, Mailbox& mail) : context_(&context), mail_(&mail) {}

  /// Sends the questions of a shard: to this rank where it hosts a judge, otherwise to the rank
  /// that the content of each question selects. Returns the shard at once where there is nothing to
  /// ask, because the verifier came to no verdict or judge.asked leaves the answers out. Where
  /// judge.prompt has {other}, every answer is asked about beside each other one of its group in
  /// the shard, and its component is its rate of wins (comparisons.hpp); that of an answer without
  /// another is 1/2.
  std::optional<GradedShard> ask(GradedShard shard);
  /// Takes a reply in, and returns the shard if that was its last one.
  std::optional<GradedShard> take(const JudgeReply& reply);

 private:
  /// What a question is about: a rollout of a group, and with which other one it is compared.
  struct Place {
    std::size_t group = 0, rollout = 0;
    std::optional<std::size_t> other{};
  };
  struct Open {
    GradedShard shard;
    std::size_t replies = 0;  ///< replies that have not come yet
    Stopwatch clock;
    std::map<std::size_t, Comparisons> compared{};  ///< by group
  };
  struct Sent {
    std::uint64_t shard;
    std::vector<Place> places;  ///< [questions of the request] the answer that each asks about
  };
  void set(GradedShard& shard, std::size_t group, std::size_t rollout,
           const Judgement& judgement) const;

  const RunContext* context_;
  Mailbox* mail_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Open> open_;
  std::map<std::uint64_t, Sent> sent_;  ///< requests without a reply, by JudgeRequest::id
};

}  // namespace rollcall::run
