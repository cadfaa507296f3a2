// A shard between its notice and its last verdict: which rollouts still need a verdict, and the
// verdicts that are known.
#pragma once

#include "base/time/clock.hpp"
#include "core/rollout.hpp"
#include "run/context/grading.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/actions.hpp"
#include "run/messages/messages.hpp"
#include "run/scoring/repeated_verdicts.hpp"

#include <cstddef>
#include <string>
#include <string_view>
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

/// Where the verdicts of a run's shards come from. Everything outlives the shards.
struct VerdictSources {
  const RunTexts* texts;  ///< the prompts as they were asked
  const Grading* grading;
  const RepeatedVerdicts* repeated;  ///< verdicts that are known already
};

class PendingShard {
 public:
  /// Rollouts whose verdicts are in `repeated`, conversations that need no grader, and answers that
  /// name what is wrong with another one (DerivedKind::error) get their verdicts here; all others
  /// are to be graded. What names an error counts as wrong, and is never undecided.
  PendingShard(const VerdictSources& sources, const ShardNotice& notice, RolloutShard shard,
               double read_s);

  const ShardNotice& notice() const { return judged_.notice; }
  std::size_t size() const { return asked_.size(); }  ///< number of rollouts that are to be graded
  /// In all functions, `index` counts only the rollouts that are to be graded.
  const Prompt& prompt(std::size_t index) const { return prompts_[asked_[index].first]; }
  /// The row of the task's file that goes with the prompt (PromptBook::extra), for a command.
  const std::string& extra(std::size_t index) const { return extras_[asked_[index].first]; }
  const Rollout& rollout(std::size_t index) const {
    return judged_.shard.groups[asked_[index].first].rollouts[asked_[index].second];
  }
  /// The text that is graded, which is the last action of the policy.
  std::string_view response(std::size_t index) const { return last_action(rollout(index)); }
  /// Whether no limit of tokens cut it.
  bool has_ended(std::size_t index) const {
    const FinishReason finish = rollout(index).finish;
    return finish == FinishReason::stop || finish == FinishReason::turns;
  }
  std::string sample(std::size_t index) const;
  /// Asks the verifier of the run. Any thread may call it.
  Score judge(std::size_t index) const;
  /// Stores a verdict on the last action, with what the environment paid. Several threads may call
  /// it at the same time for different `index`.
  void put(std::size_t index, Score score, double seconds);
  GradedShard close() &&;  ///< after the last verdict

 private:
  const Grading* grading_;
  GradedShard judged_;
  std::vector<Prompt> prompts_;                             // [group]
  std::vector<std::string> extras_;                         // [group]
  std::vector<std::pair<std::size_t, std::size_t>> asked_;  // group and rollout of each `index`
  std::vector<double> seconds_;                             // [size()] duration of each verdict
  Stopwatch clock_;
};

}  // namespace rollcall::run
