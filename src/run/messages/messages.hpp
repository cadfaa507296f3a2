// All messages between stages: sender, receiver, tag and content. Most data travels in other ways:
// shards as files, weights by a collective. Only ranks of one node that share an aggregator send it
// whole shards.
#pragma once

#include "core/plan.hpp"
#include "io/checkpoint.hpp"
#include "io/shard_file.hpp"
#include "run/messages/driver_figures.hpp"
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

// tag        from         to           content
// plan       coordinator  generation   RoundPlan: prompts, budgets, sampling, derived prompts
// shard      generation   scoring      ShardNotice: a published shard, unless its scorer made it
// judged     scoring      scoring      GradedPart: a shard with its verdicts, for its aggregator
// scored     scoring      coordinator  ScoredNotice: shard, scores, the report of each group, and
//                                      answers to make judge tasks of
// question   scoring      judge        JudgeRequest: answers of a shard
// judgement  judge        scoring      JudgeReply: one judgement of each answer
// supervise  coordinator  update       SupervisePlan: one supervised step
// update     coordinator  update       UpdatePlan: files of the closed step, how each group trains
// updated    update       coordinator  UpdateReport, from the first update rank
// weights    coordinator  transfer     version: update and generation ranks of the transfer plan
//                                      enter the collective
// pack       coordinator  scoring      PackRequest: enter the collective
// packed     scoring      coordinator  PackReport, from the first scoring rank
// save       coordinator  update       SaveRequest: write a share of a checkpoint, while the run
//                                      continues
// saved      update       coordinator  SaveReport: that share is durable
// rollback   coordinator  update       name of a checkpoint to take weights and optimizer from
// stop       any          coordinator  text: a signal has asked for a stop
// finish     coordinator  all others   exit code
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

/// The part of a round that one generation rank samples.
struct RoundPlan : StepPlan {
  StepTimes times{};
};

struct ShardNotice {
  io::PublishedFile file;  ///< file of the shard; without a name where the rank that made the shard
                           ///< also scores it and stores rollouts and scores together
  double archive_s = 0.0;
  std::map<std::uint32_t, double> generation_s{};  ///< seconds of sampling, by world rank
  std::vector<DerivedPrompt> derived{};  ///< the derived prompts of the shard's groups (StepPlan)
  std::int32_t aggregator = -1;          ///< world rank that stores the shard (StepPlan)
  std::uint32_t aggregated = 1;
  bool cut = false;  ///< a signal ended the sampling early; nothing of the shard is stored or
                     ///< scored
  DriverFigures figures{};
};

/// Where update and archive find a shard and its scores. While they are only in the memory of
/// cached_on_rank, only the paths of the files are known. UpdateReport::stored brings the rest.
struct ScoredFile {
  io::PublishedFile shard, scores;   ///< equal where one file holds both rollouts and scores
  std::int32_t cached_on_rank = -1;  ///< world rank that has both in memory for the update
                                     ///< (ShardCache); -1: no rank has, or another run stored them
};

struct SlowVerdict {
  std::string sample;
  double seconds = 0.0;
};

/// How the verdicts of a shard were reached.
struct VerdictFacts {
  std::vector<float> seconds{};        ///< duration of each verdict that is not a repeated one
  std::uint64_t repeated = 0;          ///< verdicts taken from files of steps that were set aside
  std::uint64_t settled = 0;           ///< conversations that the environment decided or lost
  std::uint64_t undecided = 0;         ///< of all these verdicts, those that are undecided
  std::uint64_t ended = 0;             ///< verdicts that a time limit ended, repeated ones included
  std::vector<SlowVerdict> slowest{};  ///< the few verdicts that took longest, the longest first
  std::string reason{};                ///< why the first undecided verdict is undecided
  /// How many answers of an evaluation reward.command found wrong, by its reason; a few reasons.
  std::map<std::string, std::uint64_t> wrong{};
  /// Number of undecided verdicts of programs for each cause (reward/undecided_cause.hpp).
  std::map<std::string, std::uint64_t> causes{};
  std::uint64_t lost = 0;     ///< conversations that the environment lost; their verdicts are
                              ///< undecided
  std::string lost_reason{};  ///< why the first of them was lost, with its name
  // Numbers about the judge or reward model that judges answers in addition to the verifier.
  std::uint64_t judged = 0;            ///< answers that the model was asked about
  std::uint64_t judged_known = 0;      ///< answers whose judgement was remembered, not computed
  std::uint64_t judged_undecided = 0;  ///< answers on which the model gave no verdict
  double judging_s = 0.0;              ///< longest time that a shard waited for the model [s]
};
/// Verdicts of all kinds.
inline std::uint64_t count_of(const VerdictFacts& facts) {
  return facts.seconds.size() + facts.repeated + facts.settled;
}
/// Adds one verdict. `sample` is called for the name of a slow one.
void note(VerdictFacts& facts, double seconds, const std::function<std::string()>& sample);
/// Adds `more` to `slowest` and keeps the few slowest of all.
void add(std::vector<SlowVerdict>& slowest, const std::vector<SlowVerdict>& more);
void add(VerdictFacts& all, const VerdictFacts& more);
/// Adds `count` answers to VerdictFacts::wrong, unless it holds enough other reasons.
void note_wrong(std::map<std::string, std::uint64_t>& wrong, const std::string& reason,
                std::uint64_t count = 1);

/// An answer of which a second pass can be made (run/context/derived/exhibits.hpp).
struct Exhibit {
  std::uint32_t sample = 0;
  bool correct = false;
  double reward = 0.0;
  std::string text{}, reason{};        ///< the answer, and why the verdict is what it is
  std::vector<std::int32_t> tokens{};  ///< those of the policy, where second_pass.kind is error
};

/// A right and a wrong answer of a group, from which judge tasks are made. Every answer draws a
/// number. The right answer with the smallest number is taken, and so is the wrong one.
struct Specimen {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  GroupId id;
  std::int32_t level = 0;
  /// kNone: the group has no such answer.
  std::uint64_t right_number = kNone, wrong_number = kNone;
  std::string right{}, wrong{};
  std::vector<Exhibit> exhibits{};  ///< ascending by sample; only in a run that shows them
  std::uint32_t cut = 0;            ///< answers that would be exhibits, had no limit cut them
};

/// A shard with its verdicts on its way to the aggregator, the rank that stores it
/// (shard_aggregation.hpp).
struct GradedPart {
  ShardNotice notice;
  RolloutShard shard;  ///< without groups, which travel as bytes
  VerdictFacts facts;
  double read_s = 0.0, scoring_s = 0.0;
  std::string groups;  ///< the groups with their scores (step_wire.hpp)
};

struct ScoredNotice {
  ScoredFile files;
  StepReport report;
  VerdictFacts verdicts{};
  double scoring_s = 0.0, archive_s = 0.0;         ///< seconds of the slowest rank, with the time
                                                   ///< of its aggregator
  std::map<std::uint32_t, double> generation_s{};  ///< seconds of sampling, by world rank
  std::vector<Specimen> specimens{};  ///< answers of the shard, in a run that makes prompts of them
  std::string rollouts{};   ///< rollouts and scores as bytes (step_wire.hpp), where the scheduler's
                            ///< rewards are made of them; otherwise empty
  DriverFigures figures{};  ///< of the shards in the file
};

/// One answer that a judge or reward model is asked about.
struct Question {
  std::string prompt, response, answer;  ///< `answer` is the reference answer of the prompt
  std::string other{};  ///< another answer to the prompt, with which `response` is compared where
                        ///< judge.prompt has {other}
};
/// A judge's or reward model's judgement of one answer.
struct Judgement {
  double value = 0.0;      ///< from a judge 0 to 1, from a reward model any number
  bool undecided = false;  ///< the model's text holds no verdict, or the model could not be asked
  std::string reason{};    ///< why there is no verdict, else the beginning of the model's text
};

struct JudgeRequest {
  std::uint64_t id = 0;  ///< number of the request on the rank that asks
  std::vector<Question> questions;
};
struct JudgeReply {
  std::uint64_t id = 0;
  std::vector<Judgement> judgements;  ///< in the order of the questions
  std::uint64_t known = 0;            ///< number of judgements that were remembered, not computed
};

// Content that all update ranks need and that grows with the step goes only to the first of them,
// which broadcasts it to the others. A copy for each would cost rank 0 the number of ranks times
// the size of a step.

struct SupervisePlan {
  std::uint64_t step = 0;
  double lr = 0.0;
  double grad_norm_limit = 0.0;  ///< a gradient with a larger norm is a spike; 0: no limit
  /// Indices into RunContext::examples in the order in which they are packed; only to the first
  /// update rank.
  std::vector<PromptId> prompts;
  StepTimes times{};
};

struct UpdatePlan {
  std::uint64_t step = 0;
  double lr = 0.0;
  double grad_norm_limit = 0.0;  ///< a gradient with a larger norm is a spike; 0: no limit
  double progress = 0.0;         ///< share of the training that was done before this step
  double steps = 1.0;  ///< steps that the run will have had at its end, as far as this step can
                       ///< tell; schedules end there
  std::vector<ScoredFile> files;     ///< files that this rank reads for all ranks (shared_out)
  std::vector<ScoredFile> others{};  ///< files that other ranks read; only to the first update rank
  /// Ascending by GroupId; a group without an entry has weight 1 and trains with all rollouts. Only
  /// to the first update rank.
  std::vector<scheduling::GroupTraining> training{};
  StepTimes times{};
};

/// What the scheduler learns of a group's update, before its own weights; NaN for a group without a
/// token.
struct GroupSignal {
  GroupId id;
  double loss = 0.0;                ///< mean surrogate loss of the group's rollouts
  double mean_abs_advantage = 0.0;  ///< mean |advantage| of the group's rollouts
  double drift = 0.0;  ///< drift of the policy since it last answered the prompt; NaN also where
                       ///< nobody asks for it or there is no earlier answer
};

/// How an update ended. `cut`: a signal ended it; the other fields of the UpdateReport then mean
/// nothing, and nothing of the step may be kept.
enum class UpdateOutcome : int { applied = 0, nonfinite = 1, spike = 2, cut = 3 };

struct UpdateReport {
  UpdateOutcome outcome = UpdateOutcome::applied;  ///< how the last update that was tried ended; an
                                                   ///< update that is not applied ends its step
  std::int64_t updates = 1, applied = 0;  ///< updates that the step was to make, and has made
  double gradient_norm = 0.0;  ///< mean over the applied updates that have a gradient; 0: none of
                               ///< them has
  std::uint64_t version = 0;
  std::map<std::string, double> metrics;
  double archive_s = 0.0, update_s = 0.0;
  double compute_mean_s = 0.0, compute_max_s = 0.0;  ///< over the update ranks: the part of
                                                     ///< update_s that a rank did not spend waiting
                                                     ///< in a collective
  std::vector<GroupSignal> groups{};  ///< ascending by GroupId; groups that an optimizer step saw
                                      ///< or whose drift was measured
  std::vector<io::PublishedFile> stored{};  ///< ascending by path: the files that ranks with cached
                                            ///< shards have written
};

struct SaveRequest {
  std::string name;
  std::string earlier;  ///< a durable checkpoint of this run from which unchanged files may be
                        ///< linked; empty: none
};
struct SaveReport {
  io::CheckpointFacts files;
  std::string policy_sha256;  ///< from the first update rank; empty from the others
};

struct PackRequest {
  std::string name;
  std::vector<ScoredFile> files;  ///< only to the first scoring rank, whose list counts (io::pack)
};
struct PackReport {
  double seconds = 0.0;
};

}  // namespace rollcall::run
