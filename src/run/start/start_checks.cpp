// Compares settings with each other and with the machine.
#include "run/start/start_checks.hpp"

#include "base/errors/error.hpp"
#include "base/process/program.hpp"
#include "base/text/byte_size.hpp"
#include "base/text/joined.hpp"
#include "kernels/kernel_set.hpp"
#include "method/columns.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/weight_files.hpp"
#include "reward/judge_verdict.hpp"
#include "run/context/derived/second_pass_checks.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/models_of.hpp"
#include "run/context/recipe_needs.hpp"
#include "run/context/run_context.hpp"
#include "run/context/step_bounds.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"
#include "run/generation/guide.hpp"
#include "run/judge/judge_model.hpp"
#include "run/start/environment_checks.hpp"
#include "run/start/on_policy.hpp"
#include "run/start/unreached.hpp"
#include "run/start/unread_settings.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/experts.hpp"
#include "run/update/replay_buffer.hpp"
#include "scheduling/schedulers.hpp"
#include "task/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <sstream>

namespace rollcall::run {
namespace {

bool runs_on_device(const RunConfig& config) {
  return config.run.numerics == kernels::kCudaBf16Sliced8;
}

/// Device kernels have no softmax over a subset of the tokens.
void check_truncation(const RunConfig& config) {
  require<ConfigError>(
      !renormalises(config.sampling) || !runs_on_device(config),
      fmt::format("sampling.logprob is \"kept\" and run.numerics {}", config.run.numerics),
      "on CUDA devices log-probs are those of the softmax over all tokens",
      "leave sampling.logprob out, or choose numerics of the host");
}

}  // namespace

std::string truncation_told(const RunConfig& config) {
  const SamplingParams& s = config.sampling;
  const bool draws = config.train.steps > 0 && config.train.from_archive.empty();
  if (!draws || !truncates(s) || renormalises(s)) return {};
  const std::string cut =
      s.top_k == 0  ? fmt::format("sampling.top_p is {}", s.top_p)
      : s.top_p < 1 ? fmt::format("sampling.top_k is {} and sampling.top_p {}", s.top_k, s.top_p)
                    : fmt::format("sampling.top_k is {}", s.top_k);
  return fmt::format(
      "{}: tokens are drawn from those that this keeps, and trained with log-probs of the softmax over all tokens, so that the gradient is not that "
      "of the distribution that draws; {}",
      cut,
      runs_on_device(config)
          ? "sampling.logprob = \"kept\" would correct that, in numerics of the host"
          : "rollout/kept_mass_mean says how much is kept, and sampling.logprob = \"kept\" trains on what is drawn from");
}

namespace {

/// Checks settings that are sizes in bytes, including settings that the run does not read.
void check_sizes(const RunConfig& config, Faults& faults) {
  const auto check = [&](const char* key, const std::string& size) {
    faults.check({key}, [&] {
      if (!size.empty()) (void)parse_bytes(size, key);
    });
  };
  check("run.memory_limit", config.run.memory_limit);
  check("sandbox.memory", config.sandbox.memory);
  check("sandbox.output", config.sandbox.output);
  check("sandbox.files", config.sandbox.files);
}

/// Checks that the models which the run reads have a readable config.json, and that a new run finds
/// weights. Models that it does not read are reported by check_unread_settings().
void check_folders(const RunConfig& c, const method::Objective* objective, bool begins,
                   Faults& faults) {
  std::filesystem::path source;
  const bool is_model = faults.check({"model.path", "run.init_from", "run.dir"}, [&] {
    (void)text_source(c);
    source = weights_source(c);
    if (!source.empty()) (void)model::read_folder_config(source);
  });
  // The tokenizer of the folder may still be read, so the key stays reliable.
  if (begins && is_model && !source.empty()) {
    try {
      model::require_model_weights(source);
    } catch (const InputError& missing) {
      faults.tell(c.run.init_from.empty() ? "model.path" : "run.init_from", missing.what());
    }
  }
  const auto asks_for = [&](std::initializer_list<const char*> names) {
    const auto columns = objective == nullptr ? std::vector<std::string>() : objective->columns();
    return std::any_of(columns.begin(), columns.end(), [&](const auto& own) {
      return std::any_of(names.begin(), names.end(),
                         [&](const char* name) { return own.starts_with(name); });
    });
  };
  const auto read = [&](const char* key, const std::string& folder, bool is_used) {
    faults.check({key}, [&] {
      if (is_used && !folder.empty()) (void)model::read_folder_config(folder);
    });
  };
  read("reference.model", c.reference.model, asks_for({method::column::reference_logprob}));
  read("teacher.model", c.teacher.model,
       asks_for({method::column::teacher_logprob, method::column::teacher_kl}));
  read("guide.model", c.guide.model, c.guide.share > 0);
  if (!c.judge.model.empty())
    faults.check({"judge.model", "judge.kind"}, [&] { (void)judge_config(c.judge); });
}

/// The words of a text, which blanks separate.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Checks that the program of a command can be started.
void check_program(const char* key, const std::vector<std::string>& command, const char* why) {
  if (command.empty() || command.front().empty()) return;
  const std::string& program = command.front();
  const bool is_path = program.find('/') != std::string::npos;
  require<ConfigError>(
      can_be_started(program),
      fmt::format(
          "{} begins with {}, {}", key, program,
          is_path ? "which is no program that may be run here" : "which PATH does not have"),
      why,
      program.find(' ') != std::string::npos
          ? fmt::format("write each word in quotes of its own: {} = [\"{}\"]", key,
                        fmt::join(words_of(program), "\", \""))
      : !is_path && can_be_started("./" + program)
          ? fmt::format("write ./{}: a name without a slash is looked for in PATH alone", program)
          : "correct it, or make the file executable with chmod +x");
}

/// Checks that the programs of commands can be started, and that verdicts of the judge can be read.
void check_judges(const RunConfig& c, Faults& faults) {
  faults.check({"reward.command"}, [&] {
    check_program("reward.command", c.reward.command, "no answer could be judged");
  });
  faults.check({"environment.command"}, [&] {
    check_program("environment.command", c.environment.command, "nobody would answer the policy");
  });
  faults.check({"judge.extract", "judge.scale", "judge.kind", "judge.model"}, [&] {
    if (!c.judge.model.empty() && c.judge.kind == "judge")
      reward::VerdictReader(c.judge.extract, c.judge.scale.at(0), c.judge.scale.at(1));
  });
}

/// Refuses groups of one rollout if the recipe compares the rollouts of a prompt. A scheduler with
/// several rounds may enlarge such groups.
void check_lone_rollouts(const RunConfig& c, const method::Objective& objective,
                         const scheduling::Scheduler& policy) {
  const std::int64_t prompts = c.train.prompts_per_step;
  const bool alone = c.train.rollouts_per_prompt == 1 &&
                     policy.hard_cap({1, prompts, prompts, 1, c.scheduler.max_rollouts}) == prompts;
  if (c.train.steps == 0 || !c.train.from_archive.empty() || !alone || c.experts.share > 0) return;
  require<ConfigError>(
      objective.lone_rollouts() != method::LoneRollouts::teach_nothing,
      fmt::format(
          "train.rollouts_per_prompt is 1, and objective.recipe {} compares the rollouts of a prompt",
          c.objective.recipe),
      "alone, none has an advantage, so that nothing would be learnt",
      "set train.rollouts_per_prompt to 2 or more, or choose a recipe that compares with something else");
}

/// Refuses temperature 0 in training: then the most probable token is always drawn, regardless of
/// its probability, so a ratio of probabilities has no meaning.
void check_temperature(const RunConfig& c) {
  if (c.train.steps == 0 || !c.train.from_archive.empty()) return;
  require<ConfigError>(
      c.sampling.temperature > 0.0,
      "sampling.temperature is 0, and the run trains on what it draws",
      "all rollouts of a prompt would be the same, and be trained with log-probs at temperature 1, which did not draw them",
      "set sampling.temperature above 0; an evaluation alone (rollcall eval) may draw the likeliest tokens");
}

/// Exits leave the first rollout of a group, so that all of it is sampled in one round. They cut
/// answers, but not conversations.
void check_exits(const RunConfig& c, Faults& faults) {
  if (c.openings.exit.empty()) return;
  faults.check({"openings.exit", "scheduler."}, [&] {
    const SchedulerSection& s = c.scheduler;
    const std::string rounds =
        scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection}).rounds;
    require<ConfigError>(
        rounds == "single",
        fmt::format("openings.exit is set, and the scheduler's rounds are {}", rounds),
        "the rollouts of a group that leave the first one's way are sampled together with it",
        "set scheduler.rounds=single, or leave openings.exit out");
  });
  faults.check({"openings.exit", "task.name"}, [&] {
    require<ConfigError>(
        task::find_task(c.task.name).environment == nullptr,
        fmt::format("openings.exit is set, and task.name is {}", c.task.name),
        "an exit leaves an answer of one turn, and the prompts of this task begin conversations",
        "leave openings.exit out, or choose another task");
  });
}

/// Checks that only new runs have to pass.
void check_new_run(const RunConfig& config, const Named& named, Faults& faults) {
  const method::Objective* const objective = named.objective.get();
  check_unread_settings(config, objective, faults);
  faults.check({"run.dir"}, [&] { require_folder_of_its_own(config.run.dir); });
  faults.check({"sampling.temperature", "train.steps", "train.from_archive"},
               [&] { check_temperature(config); });
  check_recipe_needs(config, faults);
  check_exits(config, faults);
  if (named.policy)
    faults.check({"scheduler.max_rollouts", "scheduler.", "train.rollouts_per_prompt",
                  "train.prompts_per_step", "train.from_archive"},
                 [&] { check_policy_needs(config, *named.policy); });
  if (objective == nullptr) return;
  if (named.policy)
    faults.check({"scheduler.hears", "scheduler.", "replay.share", "replay.choose", "objective."},
                 [&] { check_hears(config, *objective, *named.policy); });
  if (named.policy)
    faults.check(
        {"scheduler.selection", "scheduler.", "train.steps", "train.from_archive", "objective."},
        [&] { check_weights(config, *objective, *named.policy); });
  faults.check({"objective.pieces", "objective.", "scheduler.", "train.mini_batches",
                "train.epochs", "train.steps", "train.from_archive", "replay.share"},
               [&] { check_idle_pieces(config, *objective); });
  check_unreached(config, *objective, faults);
  faults.check({"task.shuffle_rewards", "experts.share", "self_judging.share", "second_pass.kind",
                "second_pass.buffer", "scheduler.policy", "scheduler.", "reference.model",
                "environment.command", "objective."},
               [&] { check_control(config, *objective); });
  if (named.policy)
    faults.check({"train.rollouts_per_prompt", "train.prompts_per_step", "train.steps",
                  "train.from_archive", "experts.share", "scheduler.", "objective."},
                 [&] { check_lone_rollouts(config, *objective, *named.policy); });
}

bool is_new(const RunConfig& config, const Faults& faults) {
  return !faults.are_sound({"run.dir"}) || !holds_run(config.run.dir);
}

}  // namespace

Named check_start(const RunConfig& config, JobKind kind, Faults& faults) {
  Named named;
  check_guide(config, faults);
  check_sizes(config, faults);
  faults.check({"sampling.logprob", "run.numerics"}, [&] { check_truncation(config); });
  faults.check({"task.name"}, [&] { (void)task::find_task(config.task.name); });
  faults.check({"reward.verifier", "task.name"}, [&] {
    (void)reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier);
  });
  faults.check({"objective.recipe", "objective."}, [&] {
    named.objective = method::make_objective(config.objective.recipe, config.objective.pieces,
                                             config.objective.knobs);
  });
  faults.check({"scheduler.policy", "scheduler."},
               [&] { named.policy = policy_without_prompts(config); });
  const method::Objective* const objective = named.objective.get();
  check_judges(config, faults);
  check_environment(config, objective, faults);
  if (kind != JobKind::eval && is_new(config, faults)) check_new_run(config, named, faults);
  faults.need(
      {"replay.share", "train.from_archive"},
      config.train.from_archive.empty() || config.replay.share == 0.0,
      fmt::format("train.from_archive is set, and replay.share is {}", config.replay.share),
      "steps from an archive are not archived again, so a resumed run could not replay them",
      "set replay.share=0");
  if (objective != nullptr) {
    faults.check({"replay.share", "objective."}, [&] { check_replay(config, *objective); });
    faults.check({"self_judging.share", "objective."},
                 [&] { check_self_judging(config, *objective); });
    check_second_pass(config, *objective, faults);
    faults.check({"experts.share", "objective."}, [&] { check_experts(config, *objective); });
  }
  if (objective != nullptr && kind == JobKind::train && config.train.steps > 0)
    check_companions(config, *objective, faults);
  check_folders(config, objective, is_new(config, faults), faults);
  faults.check({"model.", "run.init_from"}, [&] {
    check_shapes(config, kind == JobKind::train && is_new(config, faults), faults);
  });
  return named;
}

std::string padding_told(const RunConfig& config, std::int64_t vocabulary, std::int64_t tokens) {
  if (config.train.steps == 0 || vocabulary <= tokens || renormalises(config.sampling)) return {};
  return fmt::format(
      "the model has {} tokens and the tokenizer {}: the others have no text and are never drawn, and log-probs count their probability all the same, which a "
      "trained model has near 0{}",
      vocabulary, tokens,
      truncates(config.sampling) ? "; rollout/kept_mass_mean is without it"
                                 : " and which no metric measures");
}

std::string lone_rollouts_told(const RunConfig& c, const method::Objective& objective) {
  if (c.train.steps == 0 || !c.train.from_archive.empty() || c.scheduler.min_rollouts > 1)
    return {};
  const method::LoneRollouts lone = objective.lone_rollouts();
  if (lone == method::LoneRollouts::teach_as_others) return {};
  const bool all = c.train.rollouts_per_prompt == 1;
  const std::string key = all ? "train.rollouts_per_prompt is 1" : "scheduler.min_rollouts is 1";
  const std::string which = all ? "no rollout has" : "a prompt's only rollout does not have";
  return fmt::format(
      "{}: {} another of its prompt to be compared with, {}; set {} to 2 or more", key, which,
      lone == method::LoneRollouts::teach_nothing ? "and teaches nothing alone"
                                                  : "and its advantage is its plain reward",
      all ? "train.rollouts_per_prompt" : "scheduler.min_rollouts");
}

std::string reward_scale_told(const RunConfig& c, const method::Objective& objective) {
  if (c.train.steps == 0) return {};
  const double largest = 1.0 + c.task.format_weight;
  const bool is_command = !c.reward.command.empty();
  std::vector<std::string> pieces, keys;
  for (const auto& [piece, setting, reward] : objective.largest_rewards()) {
    if (!is_command && reward == largest) continue;
    pieces.push_back(setting.empty() ? piece + " compares it with shares of right answers"
                                     : fmt::format("{} takes {} for the largest reward ({})", piece,
                                                   reward, setting));
    if (!setting.empty()) keys.push_back("objective.knobs." + setting);
  }
  if (pieces.empty()) return {};
  const std::string adapt =
      keys.empty() ? "" : fmt::format(", or adapt {}", rollcall::joined(keys, " and "));
  return is_command ? fmt::format(
                          "reward.command gives the reward, and {}: let its scores lie in 0 to 1{}",
                          rollcall::joined(pieces, " and "), adapt)
                    : fmt::format(
                          "task.format_weight is {}, so that the reward goes up to {}, and {}: "
                          "leave task.format_weight out{}",
                          c.task.format_weight, largest, rollcall::joined(pieces, " and "), adapt);
}

std::vector<std::string> unread_rewards_told(const RunConfig& c, const method::Objective& objective,
                                             bool hears_rewards) {
  std::vector<std::string> all;
  if (c.train.steps == 0) return all;
  const method::RewardSource source = objective.reward_source();
  const bool is_heard = hears_rewards && (source.is_verifiers || c.scheduler.hears == "verifier");
  const bool reads_form = objective.reads_component("format");
  if (c.task.format_weight != 0.0 && !source.in_place.empty())
    all.push_back(fmt::format(
        "task.format_weight is {}, and {}: {} changes critic/score, the archive{} and nothing that the loss learns{}; leave "
        "task.format_weight out, or choose a recipe that reads the verifier's reward",
        c.task.format_weight, source.in_place, reads_form ? "this weight" : "the form of an answer",
        is_heard ? fmt::format(", what scheduler.policy {} hears", c.scheduler.policy) : "",
        reads_form ? ", which reads component/format with a weight of its own" : ""));
  const bool reads_command = std::any_of(
      c.reward.components.begin(), c.reward.components.end(),
      [&](const std::string& component) { return objective.reads_component(component); });
  if (!c.reward.command.empty() && !source.in_place.empty() && !reads_command)
    all.push_back(fmt::format(
        "reward.command judges, and {}: its scores change critic/score, the archive{} and nothing that the loss learns, which reads at most which "
        "answers it calls correct",
        source.in_place,
        is_heard ? fmt::format(", what scheduler.policy {} hears", c.scheduler.policy) : ""));
  if (!c.judge.model.empty() && !objective.reads_component(c.judge.component))
    all.push_back(fmt::format(
        "judge.model judges, and no piece of objective.recipe {} reads component/{}: its verdicts are stored, and nothing is learnt from them; leave "
        "judge.model out, set objective.pieces.reward=components, or name in judge.component what the recipe reads",
        c.objective.recipe, c.judge.component));
  return all;
}

namespace {

/// Says that an evaluation, on a whole file of held-out rows, has more rollouts than the training.
/// Empty if training has more, or if an evaluation takes only minutes.
std::string evaluation_told(const RunContext& context) {
  constexpr std::int64_t kMinutes = 10'000;  // rollouts: a model of 0.1 billion weights takes a few
                                             // minutes for them on one node
  const RunConfig& c = context.config;
  const auto prompts = std::int64_t(context.texts.prompts.heldout.size()),
             rollouts = prompts * c.eval.samples,
             trained = c.train.steps * c.train.prompts_per_step * c.train.rollouts_per_prompt;
  const int times = int(c.eval.before) + int(c.eval.after);
  if (times == 0 || rollouts < kMinutes || rollouts <= trained) return {};
  return fmt::format(
      "{} asks {} held-out prompts {} times each{}: {} rollouts, where training has {}; set eval.samples lower, eval.before=false, or "
      "task.heldout_prompts to fewer",
      c.eval.before ? "the evaluation before training" : "the evaluation at the end", prompts,
      c.eval.samples, times == 2 ? ", and so does the one at the end" : "", rollouts, trained);
}

}  // namespace

std::vector<std::string> costly_settings(const RunContext& context, int cores) {
  const RunConfig& c = context.config;
  std::vector<std::string> all;
  if (c.run.threads > cores)
    all.push_back(fmt::format(
        "run.threads is {}, and a rank may use {} cores here: threads that wait for a core make every step slower; leave it out, or ask for "
        "more cores a rank",
        c.run.threads, cores));
  const auto prompts = std::int64_t(context.texts.prompts.train.size());
  if (const auto told = evaluation_told(context); !told.empty()) all.push_back(told);
  if (!c.train.from_archive.empty() || c.train.steps == 0) return all;
  if (c.train.prompts_per_step > prompts)
    all.push_back(fmt::format(
        "train.prompts_per_step is {}, and there are {} training prompts: a step asks prompts {:.1f} times on average, which costs as much "
        "as other prompts and tells less; lower it, or raise train.rollouts_per_prompt instead",
        c.train.prompts_per_step, prompts,
        double(c.train.prompts_per_step) / double(std::max<std::int64_t>(prompts, 1))));
  const auto generators = std::int64_t(context.layout.of(comm::Stage::generation).size());
  if (generators > c.train.prompts_per_step)
    all.push_back(fmt::format(
        "{} ranks generate, and a step has {} prompts ({} rollouts), whose groups are never cut: {} ranks wait in every round; use fewer, or "
        "raise train.prompts_per_step",
        generators, c.train.prompts_per_step,
        c.train.prompts_per_step * c.train.rollouts_per_prompt,
        generators - c.train.prompts_per_step));
  return all;
}

}  // namespace rollcall::run
