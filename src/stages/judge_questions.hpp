// What scoring asks the model that judges: a shard with the verifier's scores goes in, and comes out with one component more once all judgements are there.
#pragma once

#include "base/clock.hpp"
#include "stages/command_scoring.hpp"
#include "stages/job.hpp"
#include "stages/mailbox.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::stages {

class JudgeQuestions {
 public:
  JudgeQuestions(const Job& job, Mailbox& mail) : job_(&job), mail_(&mail) {}

  /// Sends what is to be asked: to this rank where it judges, else to the judge that the content of each answer names. Returns the shard at once where there is
  /// nothing to ask: the verifier came to no verdict, or judge.asked leaves its answers out.
  std::optional<JudgedShard> ask(JudgedShard shard);
  /// The shard that a reply completes.
  std::optional<JudgedShard> take(const JudgeReply& reply);

 private:
  using Place = std::pair<std::size_t, std::size_t>;  ///< group and rollout
  struct Open {
    JudgedShard shard;
    std::size_t replies = 0;  ///< awaited
    Stopwatch clock;
  };
  struct Sent {
    std::uint64_t shard;
    std::vector<Place> places;  ///< of its questions
  };
  void set(JudgedShard& shard, const Place& place, const Judgement& judgement) const;

  const Job* job_;
  Mailbox* mail_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Open> open_;
  std::map<std::uint64_t, Sent> sent_;  ///< by the request's number
};

}  // namespace rollcall::stages
