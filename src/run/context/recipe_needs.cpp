// A table with a row for each recipe that needs more than its objective.
#include "run/context/recipe_needs.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "method/columns.hpp"
#include "reward/verifier.hpp"
#include "run/context/step_bounds.hpp"
#include "scheduling/schedulers.hpp"
#include "task/answer_source.hpp"
#include "task/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

struct Need {
  std::string_view recipe;
  const char* key;  ///< the setting that is missing
  bool (*is_met)(const RunConfig& config);
  const char* lacking;
  const char* without;  ///< a description of the run without the setting
  const char* remedy;
  bool forgets_at_refresh = false;  ///< the recipe drops its replayed data whenever the policy is
                                    ///< copied into the reference
};

bool replays(const RunConfig& c) { return c.replay.share > 0; }
bool forks(const RunConfig& c) { return !c.environment.forks.empty(); }
constexpr const char* kNoForks = "environment.forks is not set";
constexpr const char* kAsUnforked =
    "no rollout would begin as another one did, and the recipe is one of unforked rollouts";
bool takes_current(const RunConfig& c) { return !replays(c) || c.replay.old_policy == "current"; }

/// The pieces of the run's scheduler, no matter which row or key names them.
scheduling::SchedulerChoice pieces_of(const SchedulerSection& s) {
  return scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection});
}

bool selects(const RunConfig& c, std::string_view selection) {
  return pieces_of(c.scheduler).selection == selection;
}

/// Whether groups without a success may train, because the scheduler's selection leaves none of
/// them out.
bool trains_unsolved(const RunConfig& c) {
  const auto& knobs = c.scheduler.knobs;
  return !selects(c, "informative") ||
         std::find(knobs.begin(), knobs.end(),
                   std::pair<std::string, std::string>("left_out", "solved")) != knobs.end();
}

/// Whether beginnings that the scheduler gives as help train, if it gives any help.
bool learns_help(const RunConfig& c) {
  return pieces_of(c.scheduler).rounds != "hints" || (c.hints.as == "beginning" && c.hints.learns);
}

/// A part of a recipe's paper outside its loss that the loss does not need. Without it the run uses
/// a different method, so a warning names the part, but no run is refused.
struct Companion {
  std::string_view recipe;
  std::string_view
      policies;  ///< schedulers that have the part, which the warning names; empty: the
                 ///< part is one rollout for each prompt
  std::string scheduling::SchedulerChoice::*family;  ///< the part is a piece of this family ...
  std::string_view piece;                            ///< ... with this name
  const char* without;                               ///< a description of the run without the part
};

using scheduling::SchedulerChoice;
constexpr std::string_view kRefills = "dapo, dler, greso, brorl",
                           kEqualGroups =
                               "groups of equal rewards take the place of groups that teach";

constexpr Companion kCompanions[] = {
    {"spo-single-stream", "", nullptr, "",
     "its tracked baseline stands in for the other rollouts of a prompt, which here are there"},
    {"mssr", "", nullptr, "",
     "its tracked baseline stands in for the other rollouts of a prompt, which here are there"},
    {"spo-single-stream", "spo", &SchedulerChoice::sampler, "tracked_deviation",
     "prompts are not drawn by their tracked deviation"},
    {"one-shot-rlvr", "one_shot", &SchedulerChoice::sampler, "historical_deviation",
     "it trains on all prompts, and not on the one whose accuracy varied most"},
    {"pcl", "pcl", &SchedulerChoice::sampler, "target_difficulty",
     "no curriculum chooses the prompts, and the rest of the recipe is a policy gradient with the group's mean as its baseline"},
    {"dots-rr", "dots_rr", &SchedulerChoice::sampler, "target_difficulty",
     "prompts are not drawn by their predicted success, and what remains is the replay"},
    {"wgrpo", "wgrpo", &SchedulerChoice::sampler, "pairs",
     "hard and easy prompts do not come in pairs"},
    {"dars", "dars_et, dars_hw", &SchedulerChoice::rounds, "make_up",
     "hard prompts get no further rollouts"},
    {"v0-5", "v0_5", &SchedulerChoice::rounds, "prior_test",
     "no rollouts are added where the prior is contradicted"},
    {"xrpo", "xrpo", &SchedulerChoice::rounds, "widest_interval",
     "rollouts do not go where they narrow the mean reward most"},
    {"apriel-reasoner", "apriel_reasoner", &SchedulerChoice::sampler, "domain_share",
     "domains do not keep their shares"},
    {"adhint", "adhint", &SchedulerChoice::rounds, "hints", "no prompt gets help"},
    {"scalerl", "scalerl", &SchedulerChoice::sampler, "skip_solved",
     "solved prompts are drawn again"},
    {"rmt", "rmt", &SchedulerChoice::sampler, "tier_schedule",
     "levels do not come from easy to hard"},
    {"dapo", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"dapo_overlong", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"dler", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"cispo", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"dispo", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"clip_cov", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"kl_cov", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"qae", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
    {"ngrpo", kRefills, &SchedulerChoice::rounds, "refill",
     "solved groups take the place of groups that teach, which with scheduler.knobs.left_out=solved include those without a success"},
    {"entropy-80-20", kRefills, &SchedulerChoice::rounds, "refill", kEqualGroups.data()},
};

/// A column through which a run learns from something other than verdicts on its own rollouts. So
/// it would learn in a control experiment with shuffled verdicts, too.
struct Leak {
  const char* column;  ///< a name that ends with a slash means all columns that begin with it
  const char* what;
  bool (*is_there)(const RunConfig& config) = [](const RunConfig&) { return true; };
};

/// Whether the reference is a different model from the one that trains.
bool has_foreign_reference(const RunConfig& c) {
  const std::string& model = c.reference.model;
  return !model.empty() && model != c.model.path && model != c.run.init_from;
}

constexpr Leak kLeaks[] = {
    {method::column::teacher_logprob, "a teacher"},
    {method::column::teacher_kl, "a teacher"},
    {method::column::reference_logprob, "another model (reference.model)", has_foreign_reference},
    {method::column::flat_reference, "another model (reference.model)", has_foreign_reference},
    {method::column::expert, "worked solutions"},
    {method::column::given, "tokens that were given to it"},
    {method::column::probe_accuracy, "how probable the reference answer is"},
    {method::column::gold_logprob, "how probable the reference answer is"},
    // The rewards of turns move with the verdict (run/step/shuffle_rewards.cpp), but their parts do
    // not.
    {method::column::turn_component, "what an environment pays for single turns",
     task::has_environment},
};

/// Reward pieces that replace the verdict without reading it.
constexpr std::string_view kVerdictless[] = {"confidence"};

/// The elements of a list, without blanks.
std::vector<std::string> parts(std::string_view list, char separator) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(separator, begin), list.size());
    std::string part(list.substr(begin, end - begin));
    std::erase(part, ' ');
    all.push_back(std::move(part));
    begin = end + 1;
  }
  return all;
}

std::vector<std::string> reward_pieces(const RunConfig& config) {
  std::string names;
  for (const auto& recipe : method::library().recipes())
    if (recipe.name == config.objective.recipe) names = recipe.piece(method::Family::reward);
  for (const auto& [family, piece] : config.objective.pieces)
    if (family == "reward") names = piece;
  return parts(names, '+');
}

/// The value of a knob in the run file, else the recipe's value.
std::string knob_of(const RunConfig& config, const std::string& name) {
  std::string value;
  for (const auto& recipe : method::library().recipes())
    for (const auto& [knob, text] : recipe.settings)
      if (recipe.name == config.objective.recipe && knob == name) value = text;
  for (const auto& [knob, text] : config.objective.knobs)
    if (knob == name || knob.ends_with("." + name)) value = text;
  return value;
}

/// Number of components of a verdict for which the recipe pays; nothing if it pays for the verdict
/// as a whole.
std::optional<std::size_t> paid_components(const RunConfig& config) {
  const auto pieces = reward_pieces(config);
  if (std::find(pieces.begin(), pieces.end(), "components") == pieces.end()) return std::nullopt;
  auto names = config.reward.components;
  if (!config.reward.command.empty()) names.emplace_back("correct");
  else {
    const std::string fitting = task::fitting_verifier(config.task, config.reward);
    names = reward::find_verifier(fitting.empty() ? task::find_task(config.task.name).verifier
                                                  : fitting)
                .components;
  }
  if (!config.judge.model.empty()) names.push_back(config.judge.component);
  auto unpaid = parts(knob_of(config, "omit_components"), ',');
  for (const auto& weight : parts(knob_of(config, "component_weights"), ','))
    if (const auto equals = weight.find('=');
        equals != std::string::npos && std::strtod(weight.c_str() + equals + 1, nullptr) == 0.0)
      unpaid.push_back(weight.substr(0, equals));
  return std::count_if(names.begin(), names.end(), [&](const auto& name) {
    return std::find(unpaid.begin(), unpaid.end(), name) == unpaid.end();
  });
}

constexpr Need kNeeds[] = {
    {"dots-rr", "replay.share", replays, "replay.share is 0",
     "nothing would be replayed, and the rest of the recipe is GRPO",
     "set replay.share, for example to 0.5"},
    {"skywork-r1v2-ssb", "replay.share", replays, "replay.share is 0",
     "its buffer of samples would stay unused, and the rest of the recipe is GRPO",
     "set replay.share, for example to 0.5, and replay.choose=advantage"},
    {"remix-squeeze", "replay.share", replays, "replay.share is 0",
     "no earlier policy's rollouts would be mixed in",
     "set replay.share=0.4, replay.max_staleness=2 and replay.old_policy=current",
     /*forgets_at_refresh=*/true},
    {"dots-rr", "replay.old_policy", takes_current, "replay.old_policy is \"sampler\"",
     "its ratio would be to who drew the tokens, and not to the policy at the start of the step, as off-policy GRPO has it",
     "set replay.old_policy=current"},
    {"remix-squeeze", "replay.old_policy", takes_current, "replay.old_policy is \"sampler\"",
     "replayed tokens would be clipped by their age, and not by what the step changes",
     "set replay.old_policy=current"},
    {"skywork-r1v2-ssb", "replay.choose",
     [](const RunConfig& c) { return !replays(c) || c.replay.choose == "advantage"; },
     "replay.choose is another",
     "whatever is in the buffer would come back, and not what has an advantage in place of groups without one",
     "set replay.choose=advantage"},
    {"pods", "scheduler.policy", [](const RunConfig& c) { return selects(c, "max_variance"); },
     "the scheduler's selection is not max_variance",
     "all rollouts would train, and the recipe is GRPO",
     "set scheduler.policy=pods, or scheduler.selection=max_variance"},
    {"rstar2-agent", "scheduler.policy",
     [](const RunConfig& c) { return selects(c, "clean_positives"); },
     "the scheduler's selection is not clean_positives",
     "all rollouts would train, and the recipe is GRPO with a wider upper bound",
     "set scheduler.policy=rstar2_agent, or scheduler.selection=clean_positives"},
    {"ngrpo", "scheduler.policy", trains_unsolved,
     "the scheduler leaves out every group of equal rewards",
     "groups without a success would not train, and they are what its virtual best rollout is for",
     "set scheduler.knobs.left_out=solved"},
    {"t1-inference-scaling", "reference.decay",
     [](const RunConfig& c) { return c.reference.decay < 1 || c.reference.refresh_every > 0; },
     "reference.decay is 1", "the anchor would not follow the policy",
     "set reference.decay, for example to 0.99"},
    {"llds", "train.mini_batches",
     [](const RunConfig& c) { return c.train.epochs * c.train.mini_batches > 1; },
     "a step has one optimizer step",
     "no response could have lost likelihood within the step, so its term would be 0 throughout",
     "set train.mini_batches or train.epochs above 1"},
    {"rm-ensemble-wco-uwo", "reward.components",
     [](const RunConfig& c) { return paid_components(c).value_or(2) >= 2; },
     "fewer than two components count",
     "the least of one score is that score, so nothing would be cautious",
     "name two scorers: reward.components of a reward.command, a model in judge.model beside one, or fewer names in objective.knobs.omit_components"},
    {"prompt-augmentation-grpo", "task.forms",
     [](const RunConfig& c) { return c.task.forms.size() > 1; },
     "task.forms names none, or one alone", "every question would always be put alike",
     "name some in task.forms, for example [\"boxed\", \"answer_tag\", \"think\"]"},
    {"adhint", "hints.learns", learns_help, "no beginning that is given as help trains",
     "its weight, of how natural the policy finds such a beginning, would have nothing to weigh",
     "set hints.as=beginning and hints.learns=true"},
    {"critique-grpo", "second_pass.kind",
     [](const RunConfig& c) { return c.second_pass.kind == "refinement"; },
     "second_pass.kind is another", "no answer would be written again, and the recipe is GRPO",
     "set second_pass.kind=refinement, second_pass.of=every and second_pass.trained_on=parent"},
    {"rltf", "second_pass.kind",
     [](const RunConfig& c) { return c.second_pass.kind == "refinement"; },
     "second_pass.kind is another", "no answer would be written again, and the recipe is GRPO",
     "set second_pass.kind=refinement, second_pass.of=every, second_pass.keep=0 and "
     "second_pass.trained_on=parent"},
    {"arpo", "environment.forks", forks, kNoForks, kAsUnforked,
     "set environment.forks=after_reply"},
    {"aepo", "environment.forks", forks, kNoForks, kAsUnforked,
     "set environment.forks=after_reply"},
    {"branchgrpo", "environment.forks", forks, kNoForks, kAsUnforked,
     "set environment.forks=every_turn or top_entropy"},
    {"int-intervention-training", "second_pass.kind",
     [](const RunConfig& c) { return c.second_pass.kind == "error"; },
     "second_pass.kind is another", "no step would be put right, and the recipe is GRPO",
     "set second_pass.kind=error"},
    {"seppo", "second_pass.kind",
     [](const RunConfig& c) { return c.second_pass.kind == "counterpart"; },
     "second_pass.kind is another",
     "no earlier policy would answer, so that there would be no pair to learn from",
     "set second_pass.kind=counterpart and reference.refresh_every"},
    {"ton-thought-dropout", "sft.thought_dropout",
     [](const RunConfig& c) { return c.sft.steps == 0 || c.sft.thought_dropout > 0.0; },
     "sft.thought_dropout is 0", "the policy would never learn to leave its thought empty",
     "set sft.thought_dropout, 0.5 in the paper"},
};

}  // namespace

void check_policy_needs(const RunConfig& config, const scheduling::Scheduler& policy) {
  const SchedulerSection& s = config.scheduler;
  // A run that keeps the default scheduler.policy, allocator and rounds has not asked for any
  // particular way to draw.
  const bool is_asked_for =
      s.policy != SchedulerSection{}.policy || !s.allocator.empty() || !s.rounds.empty();
  if (!config.train.from_archive.empty() || config.train.steps == 0 || !is_asked_for) return;
  if (const auto shortage = policy.shortage(step_bounds(config)))
    throw ConfigError(error_message(
        fmt::format("scheduler.policy {} {}", s.policy, shortage->problem),
        "it would draw as another policy does, and not as its name says", shortage->remedy));
}

void tell_shortage(const RunConfig& config, const scheduling::Scheduler& policy) {
  if (!config.train.from_archive.empty() || config.train.steps == 0) return;
  const auto shortage = policy.shortage(step_bounds(config));
  if (!shortage) return;
  const std::string line =
      fmt::format("scheduler.policy {} {}: it draws as a plainer policy does; {}",
                  config.scheduler.policy, shortage->problem, shortage->remedy);
  if (config.scheduler.policy != SchedulerSection{}.policy) log_warning("{}", line);
  else log_info("{}", line);
}

void check_weights(const RunConfig& config, const method::Objective& objective,
                   const scheduling::Scheduler& policy) {
  if (!config.train.from_archive.empty() || config.train.steps == 0 || !policy.traits().weighs)
    return;
  require<ConfigError>(
      objective.reads_advantage(),
      fmt::format(
          "scheduler.policy {} multiplies advantages by weights, and the loss of objective.recipe {} reads no advantage",
          config.scheduler.policy, config.objective.recipe),
      "its weights would change nothing",
      "choose a recipe whose loss reads advantages, or a scheduler that weighs by how often it draws, as scheduler.policy=gdro_resample");
}

void check_control(const RunConfig& config, const method::Objective& objective) {
  if (!config.task.shuffle_rewards) return;
  const auto refuse = [&](bool ok, const std::string& what) {
    require<ConfigError>(
        ok,
        fmt::format("task.shuffle_rewards is set, but objective.recipe {} learns from {}",
                    config.objective.recipe, what),
        "verdicts that are permuted would leave it what it learns from, so the run is no control",
        "leave task.shuffle_rewards out, or choose a recipe that learns from verdicts alone");
  };
  const auto past = [&](bool ok, const std::string& setting, const char* how, const char* remedy) {
    require<ConfigError>(
        ok, fmt::format("task.shuffle_rewards is set, and {}", setting),
        fmt::format(
            "{}, which would reach the policy past the permutation, so the run is no control", how),
        remedy);
  };
  past(config.self_judging.share == 0.0,
       fmt::format("self_judging.share is {}", config.self_judging.share),
       "judge tasks are made of true verdicts",
       "set self_judging.share=0; self_judging.shuffle_labels is the control of judge tasks");
  const SecondPassSection& again = config.second_pass;
  past(again.kind.empty() && again.buffer == 0.0,
       again.kind.empty() ? fmt::format("second_pass.buffer is {}", again.buffer)
                          : fmt::format("second_pass.kind is {}", again.kind),
       "answers are chosen and shown again by true verdicts or references",
       "leave one of them out");
  past(
      pieces_of(config.scheduler).rounds != "hints",
      fmt::format("scheduler.policy {} asks again with help", config.scheduler.policy),
      "who gets help is known from verdicts, and help is a part of a worked solution or of the row",
      "set scheduler.rounds=single, or another scheduler.policy");
  const auto columns = objective.columns();
  for (const Leak& leak : kLeaks) {
    const std::string_view name = leak.column;
    const bool is_read = std::any_of(columns.begin(), columns.end(), [&](const auto& own) {
      return name.ends_with('/') ? own.starts_with(name) : own == name;
    });
    refuse(!is_read || !leak.is_there(config), leak.what);
  }
  refuse(config.experts.share == 0.0, "worked solutions");
  for (const auto& piece : reward_pieces(config))
    for (const auto verdictless : kVerdictless)
      refuse(piece != verdictless, fmt::format("the reward {}, which reads no verdict", piece));
}

std::vector<std::string> companions_told(const RunConfig& config) {
  std::vector<std::string> sentences;
  if (!config.train.from_archive.empty() || config.train.steps == 0) return sentences;
  const auto pieces = pieces_of(config.scheduler);
  for (const Companion& row : kCompanions) {
    if (row.recipe != config.objective.recipe) continue;
    if (row.family == nullptr) {
      if (config.train.rollouts_per_prompt == 1) continue;
      sentences.push_back(fmt::format(
          "objective.recipe {} is of one rollout a prompt, and train.rollouts_per_prompt is {}: {}; set train.rollouts_per_prompt=1 and "
          "scheduler.min_rollouts=1, and raise train.prompts_per_step",
          row.recipe, config.train.rollouts_per_prompt, row.without));
      continue;
    }
    const std::string& piece = pieces.*row.family;
    if (piece == row.piece) continue;
    const auto of_row = parts(row.policies, ',');
    const std::string& policy = config.scheduler.policy;
    const bool is_replaced = std::find(of_row.begin(), of_row.end(), policy) != of_row.end();
    sentences.push_back(fmt::format(
        "objective.recipe {} goes with scheduler.policy {}, and it is {}{}: {}", row.recipe,
        fmt::join(of_row, " or "), policy,
        is_replaced ? fmt::format(" with {} in place of {}", piece, row.piece) : "", row.without));
  }
  return sentences;
}

namespace {

/// The keys that decide whether the need is met. Any key of a scheduler may name its pieces.
Faults::Keys keys_of(const Need& need) {
  Faults::Keys keys{need.key, "objective.recipe"};
  if (keys.front() == "scheduler.policy") keys.emplace_back("scheduler.");
  return keys;
}

}  // namespace

bool forgets_at_refresh(const RunConfig& config) {
  return std::any_of(std::begin(kNeeds), std::end(kNeeds), [&](const Need& need) {
    return need.recipe == config.objective.recipe && need.forgets_at_refresh;
  });
}

void check_recipe_needs(const RunConfig& config, Faults& faults) {
  if (!config.train.from_archive.empty()) return;
  for (const Need& need : kNeeds)
    if (need.recipe == config.objective.recipe)
      faults.check(keys_of(need), [&] {
        require<ConfigError>(
            need.is_met(config),
            fmt::format("objective.recipe is {}, but {}", need.recipe, need.lacking), need.without,
            need.remedy);
      });
  faults.check(
      {"reward.components", "reward.command", "reward.verifier", "judge.model", "judge.component",
       "task.name", "objective."},
      [&] {
        require<ConfigError>(
            paid_components(config).value_or(1) > 0,
            fmt::format("objective.recipe is {}, but no reward component counts",
                        config.objective.recipe),
            "all are omitted or weigh 0, so every rollout would be paid the same",
            "name one in reward.components of a reward.command or judge.component, or change objective.knobs.omit_components");
      });
}

}  // namespace rollcall::run
