// Every message between stages: who sends it to whom, its tag, its content. Bulk data travels here
// inside a node alone, from the ranks that share an aggregator: elsewhere shards are files, and
// weights a collective.
#pragma once

#include "core/plan.hpp"
#include "io/checkpoint.hpp"
#include "io/shard_file.hpp"
#include "run/messages/step_times.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

// tag          from          to            content
// plan         coordinator   generation    RoundPlan: prompts, budgets, sampling, texts of judge
// tasks
// shard        generation    scoring       ShardNotice: a published shard, unless its scorer is the
// rank that made it
// judged       scoring       scoring       GradedPart: a shard with its verdicts, to the aggregator
// of its ranks
// scored       scoring       coordinator   ScoredNotice: shard, scores, the report per group, and
// answers to make judge tasks of
// question     scoring       judge         JudgeRequest: answers of a shard, for the model that
// judges
// judgement    judge         scoring       JudgeReply: a judgement of each
// supervise    coordinator   update        SupervisePlan: one supervised step
// update       coordinator   update        UpdatePlan: the closed step's files, and how each group
// trains
// updated      update        coordinator   UpdateReport, from the first update rank
// weights      coordinator   update and generation ranks of the transfer plan: enter the collective
// pack         coordinator   scoring       PackRequest: enter the collective
// packed       scoring       coordinator   PackReport, from the first scoring rank
// save         coordinator   update        SaveRequest: write a share of a checkpoint, while the
// run goes on
// saved        update        coordinator   SaveReport: that share is durable
// rollback     coordinator   update        checkpoint name: take weights and optimizer from it
// stop         any           coordinator   a signal asked for a stop
// finish       coordinator   all others    exit code
enum class Tag : int {
  plan = 1,
  shard,
  scored,
  supervise,
  update,
  updated,
  weights,
  pack,
  packed,
  save,
  saved,
  rollback,
  stop,
  finish,
  question,
  judgement,
  judged
};

/// A round for one generation rank.
struct RoundPlan : StepPlan {
  StepTimes times{};
};

struct ShardNotice {
  io::PublishedFile file;  ///< without a name where the rank that made the shard scores it: both
                           ///< are stored together
  double archive_s = 0.0;
  std::map<std::uint32_t, double> generation_s{};  ///< by world rank
  std::vector<Prompt> judge_tasks{};               ///< those of the shard (StepPlan)
  std::int32_t aggregator = -1;                    ///< as in StepPlan
  std::uint32_t aggregated = 1;
  bool cut = false;  ///< a signal ended the sampling early: nothing of the shard is stored or
                     ///< judged
};

/// A shard with its scores: what update and the archive need to find both. Of files that a
/// cached_on_rank has, only the paths are known until the update's report.
struct ScoredFile {
  io::PublishedFile shard, scores;   ///< one and the same where one file holds both
  std::int32_t cached_on_rank = -1;  ///< world rank that has both in memory for the update
                                     ///< (ShardCache); -1: none, or another run
};

struct SlowVerdict {
  std::string sample;
  double seconds = 0.0;
};

/// How the verdicts of a shard came about.
struct VerdictFacts {
  std::vector<float> seconds{};        ///< of each verdict that was asked for
  std::uint64_t repeated = 0;          ///< taken from files of steps that were set aside
  std::uint64_t undecided = 0;         ///< these included
  std::uint64_t ended = 0;             ///< by a clock, repeated ones included
  std::vector<SlowVerdict> slowest{};  ///< that took longest, the longest first; few
  std::string reason{};                ///< of the first undecided one
  /// Of undecided verdicts of programs, those that each cause left so (reward/undecided_cause.hpp).
  std::map<std::string, std::uint64_t> causes{};
  // Of the model that judges beside the verifier:
  std::uint64_t judged = 0;            ///< answers that it was asked about
  std::uint64_t judged_known = 0;      ///< of them, those whose judgement it remembered
  std::uint64_t judged_undecided = 0;  ///< of them, those that it gave no verdict on
  double judging_s = 0.0;              ///< that the shard which waited longest for it took
};
/// one more verdict
void note(VerdictFacts& facts, double seconds, const std::function<std::string()>& sample);
/// keeps the longest of both
void add(std::vector<SlowVerdict>& slowest, const std::vector<SlowVerdict>& more);
void add(VerdictFacts& all, const VerdictFacts& more);

/// Of a group's right answers, and of its wrong ones, the one with the smallest number drawn for
/// it: what judge tasks are made of.
struct Specimen {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  GroupId id;
  std::int32_t level = 0;
  /// kNone: the group has no such answer
  std::uint64_t right_number = kNone, wrong_number = kNone;
  std::string right{}, wrong{};
};

/// A shard with its verdicts on its way to the rank that stores it (shard_aggregation.hpp).
struct GradedPart {
  ShardNotice notice;
  RolloutShard shard;  ///< without its groups
  VerdictFacts facts;
  double read_s = 0.0, scoring_s = 0.0;
  std::string groups;  ///< with their scores (step_wire.hpp)
};

struct ScoredNotice {
  ScoredFile files;
  StepReport report;
  VerdictFacts verdicts{};
  double scoring_s = 0.0, archive_s = 0.0;  ///< of the slowest rank, and what its aggregator adds
                                            ///< to it
  std::map<std::uint32_t, double> generation_s{};  ///< by world rank
  std::vector<Specimen> specimens{};  ///< of the shard's groups, where judge tasks are made
  std::string rollouts{};  ///< with their scores (step_wire.hpp), where the scheduler hears what
                           ///< the recipe makes of them
};

/// What a model that judges is asked about.
struct Question {
  std::string prompt, response, answer;  ///< of the task; the answer is the reference
};
/// What it made of it.
struct Judgement {
  double value = 0.0;      ///< a judge: 0 to 1; a reward model: any number
  bool undecided = false;  ///< nothing that it wrote can be read as a verdict, or it could not be
                           ///< asked
  std::string reason{};    ///< why it is undecided, or how what it wrote begins
};

struct JudgeRequest {
  std::uint64_t id = 0;  ///< the asking rank's number of it
  std::vector<Question> questions;
};
struct JudgeReply {
  std::uint64_t id = 0;
  std::vector<Judgement> judgements;  ///< in the order of the questions
  std::uint64_t known = 0;            ///< of them, those that were not computed again
};

// What all update ranks need of a step and what grows with it goes to the first of them alone,
// which broadcasts it to the others: a copy for each would be ranks times the step on rank 0.

struct SupervisePlan {
  std::uint64_t step = 0;
  double lr = 0.0;
  double grad_norm_limit = 0.0;  ///< as in UpdatePlan
  /// Numbers of RunContext::examples, in the order in which they are packed: to the first update
  /// rank.
  std::vector<PromptId> prompts;
  StepTimes times{};
};

struct UpdatePlan {
  std::uint64_t step = 0;
  double lr = 0.0;
  double grad_norm_limit = 0.0;  ///< a larger norm is a spike; 0: none
  double progress = 0.0;         ///< share of the training that was done before this step
  double steps = 1.0;  ///< that the run will have had at its end, as far as this step tells: where
                       ///< schedules end
  std::vector<ScoredFile> files;     ///< that this rank reads for all (shared_out)
  std::vector<ScoredFile> others{};  ///< that other ranks read: to the first update rank
  /// Ascending GroupId; groups without an entry: weight 1, all rollouts. To the first update rank.
  std::vector<scheduling::GroupTraining> training{};
  StepTimes times{};
};

/// What the scheduler hears of a group's update, before its own weights; NaN for a group without a
/// token.
struct GroupSignal {
  GroupId id;
  double loss = 0.0;                ///< mean surrogate loss of its rollouts
  double mean_abs_advantage = 0.0;  ///< over its rollouts
  double drift = 0.0;  ///< of the policy since it last answered the prompt; NaN also where nobody
                       ///< asks or there is no earlier answer
};

/// `cut`: by a signal. The step's report then says nothing else, and nothing more of it may be
/// kept.
enum class UpdateOutcome : int { applied = 0, nonfinite = 1, spike = 2, cut = 3 };

struct UpdateReport {
  UpdateOutcome outcome = UpdateOutcome::applied;  ///< of the last update tried: one that is not
                                                   ///< applied ends its step
  std::int64_t updates = 1, applied = 0;           ///< that the step was to make, and has made
  double gradient_norm = 0.0;  ///< mean over the applied ones that have a gradient; 0: none has
  std::uint64_t version = 0;
  std::map<std::string, double> metrics;
  double archive_s = 0.0, update_s = 0.0;
  double compute_mean_s = 0.0, compute_max_s = 0.0;  ///< of update_s, over the update ranks: what
                                                     ///< none of them spent waiting in a collective
  std::vector<GroupSignal> groups{};  ///< ascending GroupId; groups that an optimizer step saw or
                                      ///< whose drift was measured
  std::vector<io::PublishedFile> stored{};  ///< ascending by path: those that keepers have written
};

struct SaveRequest {
  std::string name;
  std::string earlier;  ///< a durable checkpoint of this start, whose files may be taken over;
                        ///< empty: none
};
struct SaveReport {
  io::CheckpointFacts files;
  std::string policy_sha256;  ///< from the first update rank; empty from the others
};

struct PackRequest {
  std::string name;
  std::vector<ScoredFile> files;  ///< to the first scoring rank, whose list counts (io::pack)
};
struct PackReport {
  double seconds = 0.0;
};

}  // namespace rollcall::run
