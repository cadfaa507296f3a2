// What scoring asks the model that judges: a shard with the verifier's scores goes in, and comes
// out with one component more once all judgements are there.
#pragma once

#include "base/clock.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/mailbox.hpp"
#include "run/scoring/command_scoring.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::run {

class JudgeQuestions {
 public:
  JudgeQuestions(const RunContext& context, Mailbox& mail) : context_(&context), mail_(&mail) {}

  /// Sends what is to be asked: to this rank where it judges, else to the judge that the content of
  /// each answer names. Returns the shard at once where there is nothing to ask: the verifier came
  /// to no verdict, or judge.asked leaves its answers out.
  std::optional<GradedShard> ask(GradedShard shard);
  /// The shard that a reply completes.
  std::optional<GradedShard> take(const JudgeReply& reply);

 private:
  using Place = std::pair<std::size_t, std::size_t>;  ///< group and rollout
  struct Open {
    GradedShard shard;
    std::size_t replies = 0;  ///< awaited
    Stopwatch clock;
  };
  struct Sent {
    std::uint64_t shard;
    std::vector<Place> places;  ///< of its questions
  };
  void set(GradedShard& shard, const Place& place, const Judgement& judgement) const;

  const RunContext* context_;
  Mailbox* mail_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Open> open_;
  std::map<std::uint64_t, Sent> sent_;  ///< by the request's number
};

}  // namespace rollcall::run
