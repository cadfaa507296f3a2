// The scoring stage: it receives shards, and publishes scores and a report of each. A verifier made
// of rules scores a shard at once. Programs in the sandbox and the processes of a command score
// several shards while the rank does other work.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "io/shard_file.hpp"
#include "reward/command/spawner.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/purposes.hpp"
#include "run/scoring/code_scoring.hpp"
#include "run/scoring/command_scoring.hpp"
#include "run/scoring/judge_questions.hpp"
#include "run/scoring/shard_aggregation.hpp"
#include "run/step/shard_cache.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::run {

struct RunContext;

class ScoringStage {
 public:
  /// `spawner`: starts the command of the run; null where it has none. `kept`: the cache of a rank
  /// that also updates; otherwise null.
  ScoringStage(RunContext& context, Mailbox& mail, reward::Spawner* spawner, ShardCache* kept);
  void on_shard(const ShardNotice& notice);
  /// Takes a shard that this process made. It need not be read back, and is stored with its scores.
  void on_own_shard(const ShardNotice& notice, RolloutShard shard);
  void on_judgement(const JudgeReply& reply);  ///< from the judge model
  void on_judged(GradedPart part);             ///< from a rank that this one stores shards for
  /// Publishes shards that have all verdicts by now. Where a signal ends an evaluation, the others
  /// are reported as cut, and nothing more is judged; a training step waits for its verdicts.
  void progress();
  bool is_judging() const {
    return (command_ && command_->is_judging()) || (code_ && code_->is_judging());
  }

 private:
  void score_shard(const ShardNotice& notice, RolloutShard shard, double read_s);
  void give_up();                            ///< ends the judging of an evaluation
  void tell_cut(const ShardNotice& notice);  ///< reports to rank 0 that the step was cut; there are
                                             ///< no verdicts and no files
  void decided(GradedShard judged);          ///< after the last verdict of the verifier
  void publish(GradedShard judged);
  void store(GradedShard judged);
  /// Whether the shard stays in memory for this rank's own update.
  bool keeps(Purpose purpose) const { return kept_ != nullptr && is_trained_on(purpose); }
  /// Stores the file at once where another rank will read it. Otherwise a thread stores it later,
  /// and only the path of the result is known.
  io::PublishedFile store(const io::FileDraft& file, Purpose purpose);

  RunContext* context_;
  Mailbox* mail_;
  ShardCache* kept_;
  RepeatedVerdicts repeated_;
  VerdictSources sources_;
  ShardAggregation aggregation_;
  std::optional<CommandScoring> command_;
  std::optional<CodeScoring> code_;
  std::optional<JudgeQuestions> questions_;
  bool evaluates_ = false;  ///< what is judged belongs to an evaluation, which need not be finished
  bool gave_up_ = false;
};

enum class Undecided : std::uint8_t { drop, wrong };
Undecided undecided_of(const RunConfig& config);
/// The report of a shard to the scheduler. Training rollouts that are dropped because they have no
/// verdict are only counted. In evaluations, whose number of samples is fixed, they count as wrong.
/// `diversity`: how the answers of a training group are compared (scheduling/diversity.hpp); empty:
/// not at all.
StepReport report(const RolloutShard& shard, const ScoredShard& scores, Undecided undecided,
                  const std::string& diversity = {});

}  // namespace rollcall::run
