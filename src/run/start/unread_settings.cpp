// (long: one table) A row for each setting or section, which says in which runs it is read.
#include "run/start/unread_settings.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "environment/chosen.hpp"
#include "environment/expert_way.hpp"
#include "method/columns.hpp"
#include "model/tensors/adapter_folder.hpp"
#include "model/tensors/model_folder.hpp"
#include "reward/verifier.hpp"
#include "run/context/gradient_mask.hpp"
#include "run/folder/run_folder.hpp"
#include "run/step/objective_state.hpp"
#include "scheduling/schedulers.hpp"
#include "task/answer_source.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::run {
namespace {

namespace column = method::column;

/// A run that is about to begin, with the places where its settings were given.
struct NewRun {
  const RunConfig& config;
  const method::Objective* objective;  ///< null if its settings are wrong
  const Places& places;
  bool asks_for(std::initializer_list<std::string_view> names) const {
    const auto columns = objective->columns();
    return std::any_of(columns.begin(), columns.end(), [&](const std::string& own) {
      return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
        return name.ends_with('/') ? own.starts_with(name) : own == name;
      });
    });
  }
  bool gives(std::string_view key) const { return places.contains(key); }
};

using IsRead = bool (*)(const NewRun& run);
constexpr IsRead kAlways = nullptr;

struct Row {
  std::vector<std::string_view> keys;  ///< a key that ends with a dot means all keys that begin
                                       ///< with it
  IsRead is_read;
  Faults::Keys decided_by;  ///< the settings that is_read looks at
  const char* lacking;      ///< the reason why no part of the run reads the keys
  const char* remedy;
  /// Keys that switch this row off. If one of them is given by --set and the row's keys are in the
  /// run file, the user tries the file without them or with a different task, so they are not a
  /// fault.
  Faults::Keys turned_off_by{};
  bool whole_command = false;  ///< turned_off_by excuses the row's keys even if --set gives them:
                               ///< the user repeats the command of another run
};

const reward::Verifier& verifier_of(const RunConfig& c) {
  const std::string fitting = task::fitting_verifier(c.task, c.reward);
  return reward::find_verifier(fitting.empty() ? task::find_task(c.task.name).verifier : fitting);
}
bool has_rows(const NewRun& r) { return task::reads_rows(r.config.task); }
bool is_arithmetic(const NewRun& r) { return r.config.task.name == "arithmetic"; }
bool draws_levels(const NewRun& r) {
  return !has_rows(r) && (!is_arithmetic(r) || r.config.task.digits.empty());
}
bool runs_programs(const NewRun& r) {
  const bool judges = r.config.reward.command.empty() && reward::runs_code(verifier_of(r.config));
  return judges || environment::needs_sandbox(r.config);
}
bool has_command(const NewRun& r) { return !r.config.reward.command.empty(); }
bool has_judge(const NewRun& r) { return !r.config.judge.model.empty(); }
bool judge_writes(const NewRun& r) { return r.config.judge.kind == "judge"; }
bool supervises(const NewRun& r) { return r.config.sft.steps > 0; }
bool trains(const NewRun& r) { return r.config.train.steps > 0; }
bool updates(const NewRun& r) { return supervises(r) || trains(r); }
bool samples(const NewRun& r) { return r.config.train.from_archive.empty(); }
bool has_reference(const NewRun& r) {
  return r.asks_for({column::reference_logprob, column::flat_reference});
}
bool talks_with_command(const NewRun& r) { return !r.config.environment.command.empty(); }
bool has_expert(const NewRun& r) { return environment::has_expert(r.config); }
bool has_tools(const NewRun& r) { return r.config.environment.name == "tools"; }
scheduling::SchedulerChoice pieces_of(const NewRun& r) {
  const SchedulerSection& s = r.config.scheduler;
  return scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection});
}
bool asks_with_help(const NewRun& r) { return pieces_of(r).rounds == "hints"; }
/// Whether prompts may get different numbers of rollouts in a step, by weights or in later rounds.
bool counts_differ(const NewRun& r) {
  const auto pieces = pieces_of(r);
  return pieces.allocator != "equal" || (pieces.rounds != "single" && pieces.rounds != "refill");
}
bool refines(const NewRun& r) { return r.config.second_pass.kind == "refinement"; }
bool names_errors(const NewRun& r) { return r.config.second_pass.kind == "error"; }
bool has_placement(const NewRun& r) {
  return refines(r) || names_errors(r) || r.config.second_pass.kind == "counterpart";
}
bool decays(const OptimizerSection& optimizer) { return optimizer.lr_schedule != "constant"; }
bool looks_for_marker(const NewRun& r) {
  const RunConfig& c = r.config;
  if (has_rows(r) || !c.task.forms.empty() || c.task.extract == "marker") return true;
  return c.reward.command.empty() && c.task.extract.empty() &&
         verifier_of(c).extract == std::string_view("marker");
}
template <class Section>
bool is_on(const NewRun& r, const Section& section, std::string_view share) {
  return section.share > 0 || r.gives(share);  // a share of 0 that is given is a comparison on
                                               // purpose
}

constexpr const char *kNoFile = "the task reads no file of questions",
                     *kNoCommand = "no command judges";
constexpr const char *kNoWarmStart = "sft.steps is 0, which is the default where weights are read",
                     *kNoTraining = "train.steps is 0";
constexpr const char *kEqualCounts = "the scheduler gives every prompt the same number of rollouts",
                     *kSetCounts =
                         "set it to train.rollouts_per_prompt, or choose a scheduler.policy with "
                         "uneven counts, for example uniform_sqrt";

/// A bound is read where counts differ. One that says that they are equal is no mistake.
template <std::int64_t SchedulerSection::*kBound>
bool is_bound_read(const NewRun& r) {
  return counts_differ(r) || r.config.scheduler.*kBound == r.config.train.rollouts_per_prompt;
}
Row bound_row(std::string_view key, IsRead is_read) {
  return {
      {key},
      is_read,
      {"scheduler.", "train.rollouts_per_prompt"},
      kEqualCounts,
      kSetCounts,
      {"scheduler.policy", "scheduler.allocator", "scheduler.rounds", "train.rollouts_per_prompt"}};
}

constexpr const char *kSetName = "leave it out, or set task.name=file",
                     *kSetCommand = "leave it out, or set reward.command";
constexpr const char *kSetWarmStart = "leave it out, or set sft.steps",
                     *kSetSteps = "leave it out, or set train.steps",
                     *kSetDecay =
                         "leave it out, or let the learning rate fall, as linear or cosine";

/// All keys of a run file. A key is in several rows if several conditions must hold for it to be
/// read.
const std::vector<Row>& rows() {
  static const Faults::Keys by_objective{"objective."}, by_task{"task.name"},
      by_command{"reward.command"}, by_sft{"sft.steps", "model.path", "run.init_from"};
  static const Faults::Keys by_train{"train.steps"}, by_archive{"train.from_archive"};
  static const Faults::Keys by_pass{"second_pass.kind"},
      by_placement{"second_pass.kind", "second_pass.placement"},
      by_reference{"objective.", "second_pass.kind"};
  static const std::vector<Row> all{
      {{"run.",
        "task.name",
        "task.train_prompts",
        "task.validation_prompts",
        "task.heldout_prompts",
        "task.wording",
        "task.forms",
        "task.extract",
        "task.drop_overlong",
        "task.format_weight",
        "task.shuffle_rewards",
        "reward.verifier",
        "reward.command",
        "reward.undecided",
        "judge.model",
        "environment.name",
        "environment.command",
        "environment.forks",
        "environment.start_depth",
        "second_pass.kind",
        "second_pass.buffer",
        "openings.texts",
        "openings.exit",
        "text.",
        "model.",
        "sft.steps",
        "sampling.",
        "train.steps",
        "eval.",
        "checkpoint.",
        "archive."},
       kAlways,
       {},
       "",
       ""},
      {{"model.path"},
       [](const NewRun& r) { return r.config.run.init_from.empty(); },
       {"run.init_from"},
       "weights are those of run.init_from",
       "leave one of them out",
       {"run.init_from"}},
      // the task and its grader or judge
      {{"task.min_level", "task.max_level"},
       draws_levels,
       {"task.name", "task.file", "task.digits"},
       "the task draws no levels",
       "leave it out, or choose a task that is made",
       {"task.name", "task.file", "task.digits"}},
      {{"task.tail_exponent"},
       [](const NewRun& r) { return draws_levels(r) && r.config.task.name != "corpus"; },
       {"task.name", "task.file", "task.digits"},
       "the task draws no levels",
       "leave it out, or choose a task that is made",
       {"task.name", "task.file", "task.digits"}},
      {{"task.operators"},
       is_arithmetic,
       by_task,
       "the task has none",
       "leave it out, or set task.name=arithmetic",
       by_task},
      {{"task.digits"},
       is_arithmetic,
       by_task,
       "the task draws no operands",
       "leave it out, or set task.name=arithmetic",
       by_task},
      {{"task.file"},
       [](const NewRun& r) { return has_rows(r) || r.config.task.name == "corpus"; },
       by_task,
       "the task reads no file",
       kSetName,
       by_task},
      {{"task.heldout_file", "task.split", "task.on_bad_line", "task.heldout_share",
        "task.fields."},
       has_rows,
       by_task,
       kNoFile,
       kSetName,
       by_task},
      {{"task.heldout_share"},
       [](const NewRun& r) { return r.config.task.heldout_file.empty(); },
       {"task.heldout_file"},
       "task.heldout_file holds what is held out",
       "leave one of them out",
       {"task.heldout_file"}},
      {{"task.answer_marker"},
       looks_for_marker,
       {"task.name", "task.forms", "task.extract", "reward."},
       "neither the task nor the rule of extraction looks for a marker",
       "leave it out, or set task.extract=marker"},
      {{"reward.processes", "reward.timeout_s", "reward.components"},
       has_command,
       by_command,
       kNoCommand,
       kSetCommand},
      {{"sandbox."},
       runs_programs,
       {"task.name", "reward.verifier", "reward.command", "environment.tools",
        "environment.command", "environment.sandbox"},
       "neither the verifier nor the environment runs programs in it",
       "leave it out, or choose a task whose answers are programs"},
      {{"judge."},
       has_judge,
       {"judge.model"},
       "no model judges",
       "leave it out, or set judge.model"},
      {{"judge.system", "judge.assistant_prefix", "judge.extract", "judge.scale", "judge.votes",
        "judge.temperature", "judge.top_k", "judge.top_p", "judge.max_new_tokens", "judge.stop"},
       judge_writes,
       {"judge.kind", "judge.model"},
       "a reward model writes nothing",
       "leave it out, or set judge.kind=judge"},
      {{"judge.top_k", "judge.top_p"},
       [](const NewRun& r) { return r.config.judge.sampling.temperature > 0; },
       {"judge.temperature"},
       "judge.temperature is 0: its likeliest token is taken",
       "leave it out, or raise judge.temperature"},
      // the warm start
      {{"sft."}, supervises, by_sft, kNoWarmStart, kSetWarmStart, {"sft.steps"}},
      {{"sft.turns"},
       [](const NewRun& r) { return r.config.sft.file.empty() && has_expert(r); },
       {"sft.file", "environment.name", "environment.command", "task.name"},
       "no conversation of an expert is learnt",
       "leave it out, or choose a task with an environment that has an expert"},
      {{"sft.messages_key", "sft.prompt_key", "sft.answer_key"},
       [](const NewRun& r) { return !r.config.sft.file.empty(); },
       {"sft.file"},
       "no file of examples is read",
       "leave it out, or set sft.file"},
      // sampling
      {{"sampling.top_k", "sampling.top_p"},
       [](const NewRun& r) { return r.config.sampling.temperature > 0; },
       {"sampling.temperature"},
       "sampling.temperature is 0: the likeliest token is taken",
       "leave it out, or raise sampling.temperature",
       {"sampling.temperature"}},
      {{"sampling.logprob"},
       [](const NewRun& r) { return truncates(r.config.sampling); },
       {"sampling.temperature", "sampling.top_k", "sampling.top_p"},
       "draws leave no token out",
       "leave it out, or set sampling.top_k or sampling.top_p"},
      // conversations
      {{"environment.role", "environment.max_turns", "environment.max_tokens",
        "environment.turns_every", "sampling.turn_tokens"},
       [](const NewRun& r) { return task::has_environment(r.config); },
       {"environment.name", "environment.command", "task.name"},
       "answers are single turns",
       "leave it out, or set environment.name or environment.command",
       {"environment.name", "environment.command", "task.name"}},
      {{"environment.processes", "environment.timeout_s", "environment.components",
        "environment.kinds", "environment.sandbox"},
       talks_with_command,
       {"environment.command"},
       "the policy talks with no command",
       "leave it out, or set environment.command",
       {"environment.command"}},
      {{"environment.processes", "environment.timeout_s"},
       [](const NewRun& r) { return !r.config.environment.sandbox; },
       {"environment.sandbox"},
       "each answer is a run of its own in the sandbox, whose limits count",
       "leave it out, or set environment.sandbox=false",
       {"environment.sandbox"}},
      {{"environment.start_every"},
       [](const NewRun& r) { return r.config.environment.start_depth == "backward"; },
       {"environment.start_depth"},
       "environment.start_depth is not backward",
       "leave it out, or set environment.start_depth=backward",
       {"environment.start_depth"}},
      {{"environment.start_success"},
       [](const NewRun& r) { return r.config.environment.start_depth == "success"; },
       {"environment.start_depth"},
       "environment.start_depth is not success",
       "leave it out, or set environment.start_depth=success",
       {"environment.start_depth"}},
      {{"environment.tools"},
       has_tools,
       {"environment.name"},
       "environment.name is not tools",
       "leave it out, or set environment.name=tools",
       {"environment.name"}},
      {{"environment.index"},
       [](const NewRun& r) {
         const auto& tools = r.config.environment.tools;
         return has_tools(r) && std::find(tools.begin(), tools.end(), "search") != tools.end();
       },
       {"environment.name", "environment.tools"},
       "the tool search is not among those that may be called",
       "leave it out, or put search into environment.tools",
       {"environment.name", "environment.tools"}},
      {{"environment.unforked"},
       [](const NewRun& r) { return !r.config.environment.forks.empty(); },
       {"environment.forks"},
       "environment.forks is empty: no rollout forks from another",
       "leave it out, or set environment.forks",
       {"environment.forks"}},
      {{"openings.as"},
       [](const NewRun& r) { return !r.config.openings.texts.empty(); },
       {"openings.texts"},
       "openings.texts is empty",
       "leave it out, or set openings.texts",
       {"openings.texts"}},
      // decisions of the scheduler
      bound_row("scheduler.min_rollouts", is_bound_read<&SchedulerSection::min_rollouts>),
      bound_row("scheduler.max_rollouts", is_bound_read<&SchedulerSection::max_rollouts>),
      // rounds that ask again
      {{"hints."},
       asks_with_help,
       {"scheduler."},
       "no round of the scheduler asks again with help",
       "leave it out, or set scheduler.rounds=hints",
       {"scheduler.policy", "scheduler.rounds"}},
      {{"hints.shares"},
       [](const NewRun& r) { return r.config.hints.source == "solution"; },
       {"hints.source"},
       "hints.source is row: each row lists its own help",
       "leave it out, or set hints.source=solution",
       {"hints.source"}},
      {{"hints.hint_key"},
       [](const NewRun& r) { return r.config.hints.source == "row"; },
       {"hints.source"},
       "hints.source is solution: help is the beginning of the worked one",
       "leave it out, or set hints.source=row",
       {"hints.source"}},
      {{"hints.text"},
       [](const NewRun& r) { return r.config.hints.as == "prompt"; },
       {"hints.as"},
       "hints.as is beginning: the question stays as it is",
       "leave it out, or set hints.as=prompt",
       {"hints.as"}},
      {{"hints.learns"},
       [](const NewRun& r) { return r.config.hints.as == "beginning"; },
       {"hints.as"},
       "hints.as is prompt: no tokens of the answer are given",
       "leave it out, or set hints.as=beginning",
       {"hints.as"}},
      {{"second_pass.of", "second_pass.share", "second_pass.rollouts"},
       [](const NewRun& r) { return refines(r) || names_errors(r); },
       by_pass,
       "second_pass.kind is neither refinement nor error",
       "leave it out, or set second_pass.kind",
       by_pass},
      {{"second_pass.placement"},
       has_placement,
       by_pass,
       "second_pass.kind makes no answers that could train in another group",
       "leave it out, or set second_pass.kind to refinement, error or counterpart",
       by_pass},
      {{"second_pass.trained_on"},
       [](const NewRun& r) { return refines(r) && r.config.second_pass.placement != "own_group"; },
       by_placement,
       "no refinement trains in the group that it was made of",
       "leave it out, or set second_pass.kind=refinement with another second_pass.placement",
       by_placement},
      {{"second_pass.keep"},
       [](const NewRun& r) {
         return has_placement(r) && r.config.second_pass.placement == "joins_parent";
       },
       by_placement,
       "no answers of a second pass join the group that they were made of",
       "leave it out, or set second_pass.kind with second_pass.placement=joins_parent",
       by_placement},
      {{"second_pass.feedback"},
       refines,
       by_pass,
       "second_pass.kind is not refinement",
       "leave it out, or set second_pass.kind=refinement",
       by_pass},
      {{"second_pass.refinement"},
       [](const NewRun& r) { return refines(r) || r.config.second_pass.buffer > 0.0; },
       {"second_pass.kind", "second_pass.buffer"},
       "nothing asks for a better answer",
       "leave it out, or set second_pass.kind=refinement or second_pass.buffer",
       {"second_pass.kind", "second_pass.buffer"}},
      {{"second_pass.error"},
       [](const NewRun& r) {
         return names_errors(r) || (refines(r) && r.config.second_pass.feedback == "critique");
       },
       {"second_pass.kind", "second_pass.feedback"},
       "nothing asks what is wrong",
       "leave it out, or set second_pass.kind=error or second_pass.feedback=critique",
       {"second_pass.kind", "second_pass.feedback"}},
      {{"second_pass.buffer_size"},
       [](const NewRun& r) { return r.config.second_pass.buffer > 0.0; },
       {"second_pass.buffer"},
       "second_pass.buffer is 0",
       "leave it out, or set second_pass.buffer",
       {"second_pass.buffer"}},
      {{"second_pass.numerics", "second_pass.factor"},
       [](const NewRun& r) { return r.config.second_pass.kind == "pool"; },
       by_pass,
       "second_pass.kind is not pool",
       "leave it out, or set second_pass.kind=pool",
       by_pass},
      // training
      {{"train.micro_batch_tokens", "train.on_nonfinite", "train.loss_spike_factor",
        "train.max_bad_steps"},
       updates,
       {"train.steps", "sft.steps"},
       "nothing is trained",
       "leave it out, or set train.steps"},
      {{"train.max_bad_steps"},
       [](const NewRun& r) { return r.config.train.on_nonfinite != "stop"; },
       {"train.on_nonfinite"},
       "train.on_nonfinite is stop: the first bad step ends the run",
       "leave it out, or set train.on_nonfinite to skip or rollback"},
      {{"train.rollouts",
        "train.prompts_per_step",
        "train.rollouts_per_prompt",
        "train.epochs",
        "train.mini_batches",
        "train.lr",
        "train.beta1",
        "train.beta2",
        "train.eps",
        "train.weight_decay",
        "train.max_grad_norm",
        "train.warmup_steps",
        "train.lr_schedule",
        "train.min_lr_ratio",
        "train.from_archive",
        "scheduler.",
        "success.",
        "objective.",
        "reference.",
        "teacher.",
        "guide.",
        "probes.",
        "critic.",
        "replay.",
        "experts.",
        "self_judging.",
        "hints.",
        "second_pass."},
       trains,
       by_train,
       kNoTraining,
       kSetSteps,
       {"train.steps"},
       /*whole_command=*/true},
      {{"sft.min_lr_ratio"},
       [](const NewRun& r) { return decays(r.config.sft.optimizer); },
       {"sft.lr_schedule"},
       "sft.lr_schedule is constant: no decay ends there",
       kSetDecay,
       {"sft.lr_schedule"}},
      {{"train.min_lr_ratio"},
       [](const NewRun& r) { return decays(r.config.train.optimizer); },
       {"train.lr_schedule"},
       "train.lr_schedule is constant: no decay ends there",
       kSetDecay,
       {"train.lr_schedule"}},
      {{"critic.min_lr_ratio"},
       [](const NewRun& r) { return decays(r.config.critic.optimizer); },
       {"critic.lr_schedule"},
       "critic.lr_schedule is constant: no decay ends there",
       kSetDecay,
       {"critic.lr_schedule"}},
      {{"train.prompts_per_step", "train.rollouts_per_prompt", "scheduler.", "guide.",
        "self_judging."},
       samples,
       by_archive,
       "the rollouts are those of train.from_archive",
       "leave it out, or leave train.from_archive out",
       {"train.from_archive"},
       /*whole_command=*/true},
      {{"reference.model", "reference.decay"},
       has_reference,
       by_objective,
       "the objective compares with no reference policy",
       "leave it out, or choose a regularizer that does, for example objective.pieces.regularizer=kl"},
      {{"reference.refresh_every"},
       [](const NewRun& r) {
         return has_reference(r) || r.config.second_pass.kind == "counterpart";
       },
       by_reference,
       "the objective compares with no reference policy",
       "leave it out, or choose a regularizer that does, for example objective.pieces.regularizer=kl"},
      {{"teacher."},
       [](const NewRun& r) {
         return r.asks_for({column::teacher_logprob, column::teacher_kl});
       },
       by_objective,
       "the objective follows no teacher",
       "leave it out, or choose a recipe that distils"},
      {{"critic."},
       [](const NewRun& r) { return r.objective->needs_value() || r.asks_for({column::value}); },
       by_objective,
       "the objective trains no value head",
       "leave it out, or choose a recipe that does, for example ppo"},
      {{"probes.opener"},
       [](const NewRun& r) {
         return r.asks_for({column::reasoning_step, column::probe_accuracy,
                            column::probe_confidence, column::gold_logprob,
                            column::gold_logprob_before});
       },
       by_objective,
       "the objective asks for no reference answer behind a part of a rollout",
       "leave it out, or choose a recipe that does, for example igpo"},
      {{"probes."},
       [](const NewRun& r) {
         return r.asks_for(
             {column::reasoning_step, column::probe_accuracy, column::probe_confidence});
       },
       by_objective,
       "the objective probes no reasoning steps",
       "leave it out, or choose a recipe that does, for example spae-step-potential"},
      {{"success."},
       [](const NewRun& r) { return reads_tracked_success(r.config, *r.objective); },
       {"objective.", "scheduler."},
       "neither objective nor sampler reads the tracked success of prompts",
       "leave it out, or choose what does, for example objective.recipe=spo-single-stream"},
      {{"gradient_mask."},
       [](const NewRun& r) { return masks_gradient(r.config); },
       {"gradient_mask.before", "gradient_mask.after", "train.steps"},
       "it names no checkpoints, or no training step (train.steps) reads them",
       "leave it out, or set gradient_mask.before and gradient_mask.after"},
      {{"guide."},
       [](const NewRun& r) { return is_on(r, r.config.guide, "guide.share"); },
       {"guide.share"},
       "guide.share is not",
       "set guide.share, or leave it out"},
      {{"replay."},
       [](const NewRun& r) { return is_on(r, r.config.replay, "replay.share"); },
       {"replay.share"},
       "replay.share is not",
       "set replay.share, or leave it out"},
      {{"self_judging."},
       [](const NewRun& r) { return is_on(r, r.config.self_judging, "self_judging.share"); },
       {"self_judging.share"},
       "self_judging.share is not",
       "set self_judging.share, or leave it out"},
      // validation
      {{"eval.validation_samples"},
       [](const NewRun& r) { return r.config.eval.every > 0; },
       {"eval.every"},
       "eval.every is 0: nothing is validated",
       "leave it out, or set eval.every",
       {"eval.every"}},
      {{"checkpoint.keep_best"},
       [](const NewRun& r) {
         return r.config.eval.every > 0 ||
                r.config.checkpoint.keep_best.find("validation/") == std::string::npos;
       },
       {"eval.every"},
       "eval.every is 0: nothing is validated",
       "set eval.every, or name a metric of the steps",
       {"eval.every"}},
      {{"checkpoint.patience"},
       [](const NewRun& r) { return r.config.eval.every > 0; },
       {"eval.every"},
       "eval.every is 0: nothing is validated",
       "leave it out, or set eval.every",
       {"eval.every"}},
  };
  return all;
}

bool covers(const Row& row, std::string_view key) {
  return std::any_of(row.keys.begin(), row.keys.end(), [&](std::string_view own) {
    return own.ends_with('.') ? key.starts_with(own) : key == own;
  });
}

/// The values by "section.key" in a written run file.
std::map<std::string, std::string> values_of(RunConfig config) {
  std::map<std::string, std::string> values;
  const std::string toml = bind(config).to_toml();
  std::string section;
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t end = std::min(toml.find('\n', at), toml.size());
    const std::string line = toml.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    else if (const auto equals = line.find(" = "); equals != std::string::npos)
      values[section + "." + line.substr(0, equals)] = line.substr(equals);
  }
  return values;
}

/// Whether the key was given for this run by a person.
bool is_stated(const Places& places, std::string_view key) {
  const auto place = places.find(key);
  return place != places.end() && !place->second.recorded;
}

bool is_given_by_set(const Places& places, std::string_view key) {
  const auto place = places.find(key);
  return place != places.end() && place->second.by_assignment;
}

/// Whether a part of the run reads the key, or it cannot be decided.
bool reads(const Row& row, const NewRun& run, const std::string& key, const Faults& faults) {
  const auto among = [](const Faults::Keys& keys, std::string_view name) {
    return std::find(keys.begin(), keys.end(), name) != keys.end();
  };
  const bool by_objective = among(row.decided_by, "objective.");
  if (row.is_read == kAlways || among(row.turned_off_by, key)) return true;
  if (!faults.are_sound(row.decided_by) || (by_objective && run.objective == nullptr)) return true;
  const bool is_turned_off =
      std::any_of(row.turned_off_by.begin(), row.turned_off_by.end(),
                  [&](std::string_view name) { return is_given_by_set(run.places, name); });
  return row.is_read(run) ||
         (is_turned_off && (row.whole_command || !is_given_by_set(run.places, key)));
}

}  // namespace

void check_shapes(const RunConfig& config, bool is_new, Faults& faults) {
  const std::filesystem::path folder = weights_source(config);
  // A missing folder is reported where it is read.
  if (folder.empty() ||
      !(std::filesystem::exists(folder / "config.json") || model::is_adapter_folder(folder)))
    return;
  const auto own = model::read_folder_config(folder);
  const ModelSection &stated = config.model, usual;
  const struct {
    const char* key;
    double stated, usual, own;
  } shapes[] = {
      {"hidden_size", double(stated.hidden_size), double(usual.hidden_size),
       double(own.hidden_size)},
      {"intermediate_size", double(stated.intermediate_size), double(usual.intermediate_size),
       double(own.intermediate_size)},
      {"num_hidden_layers", double(stated.num_hidden_layers), double(usual.num_hidden_layers),
       double(own.num_hidden_layers)},
      {"num_attention_heads", double(stated.num_attention_heads), double(usual.num_attention_heads),
       double(own.num_attention_heads)},
      {"num_key_value_heads", double(stated.num_key_value_heads), double(usual.num_key_value_heads),
       double(own.num_key_value_heads)},
      {"head_dim", double(stated.head_dim), double(usual.head_dim), double(own.head_dim)},
      {"max_position_embeddings", double(stated.max_position_embeddings),
       double(usual.max_position_embeddings), double(own.max_position_embeddings)},
      {"rope_theta", stated.rope_theta, usual.rope_theta, own.rope_theta},
      {"rms_norm_eps", stated.rms_norm_eps, usual.rms_norm_eps, own.rms_norm_eps},
      {"tie_word_embeddings", double(stated.tie_word_embeddings), double(usual.tie_word_embeddings),
       double(own.tie_word_embeddings)},
      {"qk_norm", double(stated.qk_norm), double(usual.qk_norm), double(own.qk_norm)},
      {"attention_bias", double(stated.attention_bias), double(usual.attention_bias),
       double(own.attention_bias)},
  };
  const bool is_tried = is_given_by_set(faults.places, "model.path") ||
                        is_given_by_set(faults.places, "run.init_from");
  const auto tell = [&](const std::string& key, const std::string& problem) {
    if (!is_new || !is_stated(faults.places, key) ||
        (is_tried && !is_given_by_set(faults.places, key)))
      return log_warning("{}", problem);
    faults.tell(key, error_message(problem, "nothing would read the setting",
                                   "leave it out, or choose a model that is like that"));
  };
  // A record of a run states every key, so a default in it was not chosen by the user.
  const auto is_chosen = [&](const auto& shape) {
    return shape.stated != shape.usual ||
           (is_new && is_stated(faults.places, fmt::format("model.{}", shape.key)));
  };
  for (const auto& shape : shapes)
    if (is_chosen(shape) && shape.stated != shape.own)
      tell(fmt::format("model.{}", shape.key),
           fmt::format("model.{} is {}, and the model in {} has {}, which counts", shape.key,
                       shape.stated, folder.string(), shape.own));
  if (stated.initializer_range != usual.initializer_range)
    tell("model.initializer_range",
         fmt::format("model.initializer_range is {}, and weights are read from {}: none is drawn",
                     stated.initializer_range, folder.string()));
}

void check_unread_settings(const RunConfig& config, const method::Objective* objective,
                           Faults& faults) {
  const NewRun run{config, objective, faults.places};
  const auto values = values_of(config), usual = values_of({});
  for (const auto& [key, value] : values) {
    bool known = false;
    for (const Row& row : rows()) {
      if (!covers(row, key)) continue;
      known = true;
      if (!is_stated(run.places, key) || (usual.contains(key) && usual.at(key) == value) ||
          !faults.are_sound({key}) || reads(row, run, key, faults))
        continue;
      const std::string problem =
          fmt::format("{} is set, but {} (task.name {}, objective.recipe {})", key, row.lacking,
                      config.task.name, config.objective.recipe);
      faults.tell(key, error_message(problem, "nothing would read it", row.remedy));
      break;
    }
    expect(known, "every key of a run file is in a row");
  }
}

}  // namespace rollcall::run
