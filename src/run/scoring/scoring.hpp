// The scoring stage: a shard in, scores and a report out. A verifier of rules scores a shard at
// once; code that runs and the command's processes judge several beside whatever else the rank
// does.
#pragma once

#include "run/context/run_context.hpp"
#include "run/messages/mailbox.hpp"
#include "run/scoring/code_scoring.hpp"
#include "run/scoring/command_scoring.hpp"
#include "run/scoring/judge_questions.hpp"
#include "run/scoring/shard_aggregation.hpp"
#include "run/step/shard_cache.hpp"

#include <optional>

namespace rollcall::run {

class ScoringStage {
 public:
  /// `spawner`: where the job's judge is a command. `kept`: where this rank updates as well.
  ScoringStage(RunContext& context, Mailbox& mail, reward::Spawner* spawner, ShardCache* kept);
  void on_shard(const ShardNotice& notice);
  /// Of this process: it need not be read back, and is stored together with its scores.
  void on_own_shard(const ShardNotice& notice, RolloutShard shard);
  void on_judgement(const JudgeReply& reply);  ///< of the model that judges beside the verifier
  void on_judged(GradedPart part);             ///< of a rank whose aggregator this is
  void progress();  ///< publishes what code or the command has judged meanwhile
  bool is_judging() const {
    return (command_ && command_->is_judging()) || (code_ && code_->is_judging());
  }

 private:
  void score_shard(const ShardNotice& notice, RolloutShard shard, double read_s);
  void tell_cut(const ShardNotice& notice);  ///< in place of verdicts, with no files
  void decided(GradedShard judged);          ///< by the verifier
  void publish(GradedShard judged);
  void store(GradedShard judged);
  /// for this rank's update
  bool keeps(Purpose purpose) const { return kept_ != nullptr && is_trained_on(purpose); }
  /// At once where another rank will read it; else only its path is known so far.
  io::PublishedFile store(const io::FileDraft& file, Purpose purpose);

  RunContext* context_;
  Mailbox* mail_;
  ShardCache* kept_;
  RepeatedVerdicts repeated_;
  ShardAggregation aggregation_;
  std::optional<CommandScoring> command_;
  std::optional<CodeScoring> code_;
  std::optional<JudgeQuestions> questions_;
};

enum class Undecided : std::uint8_t { drop, wrong };
Undecided undecided_of(const RunConfig& config);
/// What the scheduler hears of it. Training rollouts without a verdict that are dropped are only
/// counted; in evaluations, whose samples are a fixed number, they stand as wrong. `diversity`: how
/// the answers of a training group that have a verdict are compared (scheduling/diversity.hpp);
/// empty: they are not.
StepReport report(const RolloutShard& shard, const ScoredShard& scores, Undecided undecided,
                  const std::string& diversity = {});

}  // namespace rollcall::run
