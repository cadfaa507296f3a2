// A shard between its notice and its last verdict: which rollouts are still to be judged, and which
// verdicts are known.
#pragma once

#include "base/time/clock.hpp"
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
  /// Takes the verdicts that are in `repeated` index once.
  PendingShard(const RunContext& context, const RepeatedVerdicts& repeated,
               const ShardNotice& notice, RolloutShard shard, double read_s);

  std::size_t size() const { return asked_.size(); }  ///< how many rollouts are to be judged
  /// `index` counts the rollouts that are to be judged, in all functions.
  const Prompt& prompt(std::size_t index) const { return prompts_[asked_[index].first]; }
  const Rollout& rollout(std::size_t index) const {
    return judged_.shard.groups[asked_[index].first].rollouts[asked_[index].second];
  }
  std::string sample(std::size_t index) const;
  /// Asks the verifier of the run. Any thread may call it.
  Score judge(std::size_t index) const;
  /// Stores a verdict. Threads may call it index once for different `index`.
  void put(std::size_t index, Score score, double seconds);
  GradedShard close() &&;  ///< after the last verdict

 private:
  const RunContext* context_;
  GradedShard judged_;
  std::vector<Prompt> prompts_;                             // [group]
  std::vector<std::pair<std::size_t, std::size_t>> asked_;  // group and rollout
  std::vector<double> seconds_;                             // [asked]
  Stopwatch clock_;
};

}  // namespace rollcall::run
