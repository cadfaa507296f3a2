// The scoring stage: a shard in, scores and a report out. A verifier of rules scores a shard at once; code that runs and the command's processes
// judge several beside whatever else the rank does.
#pragma once

#include "stages/code_scoring.hpp"
#include "stages/command_scoring.hpp"
#include "stages/job.hpp"
#include "stages/judge_questions.hpp"
#include "stages/kept_shards.hpp"
#include "stages/mailbox.hpp"
#include "stages/shard_aggregation.hpp"

#include <optional>

namespace rollcall::stages {

class Scoring {
 public:
  /// `spawner`: where the job's judge is a command. `kept`: where this rank updates as well.
  Scoring(Job& job, Mailbox& mail, reward::Spawner* spawner, KeptShards* kept);
  void on_shard(const ShardNotice& notice);
  /// Of this process: it need not be read back, and is stored together with its scores.
  void on_own_shard(const ShardNotice& notice, RolloutShard shard);
  void on_judgement(const JudgeReply& reply);  ///< of the model that judges beside the verifier
  void on_judged(JudgedPart part);             ///< of a rank whose aggregator this is
  void progress();                             ///< publishes what code or the command has judged meanwhile
  bool is_judging() const { return (command_ && command_->is_judging()) || (code_ && code_->is_judging()); }

 private:
  void score_shard(const ShardNotice& notice, RolloutShard shard, double read_s);
  void tell_cut(const ShardNotice& notice);  ///< in place of verdicts, with no files
  void decided(JudgedShard judged);          ///< by the verifier
  void publish(JudgedShard judged);
  void store(JudgedShard judged);
  bool keeps(Purpose purpose) const { return kept_ != nullptr && is_trained_on(purpose); }  ///< for this rank's update
  /// At once where another rank will read it; else only its path is known so far.
  io::PublishedFile store(const io::FileDraft& file, Purpose purpose);

  Job* job_;
  Mailbox* mail_;
  KeptShards* kept_;
  RepeatedVerdicts repeated_;
  ShardAggregation aggregation_;
  std::optional<CommandScoring> command_;
  std::optional<CodeScoring> code_;
  std::optional<JudgeQuestions> questions_;
};

enum class Undecided : std::uint8_t { drop, wrong };
Undecided undecided_of(const RunConfig& config);
/// What the scheduler hears of it. Training rollouts without a verdict that are dropped are only counted; in evaluations, whose samples are a fixed number,
/// they stand as wrong.
StepReport report(const RolloutShard& shard, const ScoredShard& scores, Undecided undecided);

}  // namespace rollcall::stages
