// A shard between its notice and its last verdict: what is to be judged of it, and what is known
// already.
#pragma once

#include "base/clock.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/messages.hpp"
#include "run/scoring/repeated_verdicts.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace rollcall::run {

/// A shard with its verdicts.
struct GradedShard {
  ShardNotice notice;
  RolloutShard shard;
  ScoredShard scores;
  VerdictFacts facts;
  double read_s = 0.0, scoring_s = 0.0;
};

class PendingShard {
 public:
  /// Verdicts that are `repeated` stand in it already.
  PendingShard(const RunContext& context, const RepeatedVerdicts& repeated,
               const ShardNotice& notice, RolloutShard shard, double read_s);

  std::size_t size() const { return asked_.size(); }  ///< verdicts that are asked for
  const Prompt& prompt(std::size_t at) const { return prompts_[asked_[at].first]; }
  const Rollout& rollout(std::size_t at) const {
    return judged_.shard.groups[asked_[at].first].rollouts[asked_[at].second];
  }
  std::string sample(std::size_t at) const;
  /// By the job's verifier. From any thread.
  Score judge(std::size_t at) const;
  /// From one thread at a time for each `at`.
  void put(std::size_t at, Score score, double seconds);
  GradedShard close() &&;  ///< all are there

 private:
  const RunContext* context_;
  GradedShard judged_;
  std::vector<Prompt> prompts_;                             // [group]
  std::vector<std::pair<std::size_t, std::size_t>> asked_;  // group and rollout
  std::vector<double> seconds_;                             // [asked]
  Stopwatch clock_;
};

}  // namespace rollcall::run
