// A table of names, and the names that follow from the settings of objective, verifier and
// scheduler.
#include "run/coordinator/metric_names.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "method/method.hpp"
#include "run/context/derived/exhibits.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

/// Names that any run knows. Some appear only in steps in which they can be measured.
constexpr const char* kNames[] = {
    "actor/entropy", "actor/grad_norm", "actor/lr", "actor/lr_factor", "actor/pg_clipfrac",
    "actor/pg_loss", "actor/ppo_kl", "actor/ratio_max", "actor/ratio_mean", "actor/ratio_min",
    "actor/ratio_max_last", "actor/ratio_min_last",
    // metrics of only some surrogates
    "actor/bad_above", "actor/bad_below", "actor/good_above", "actor/good_below",
    "actor/is_bounded", "actor/rollout_kl",
    // steps of several updates
    "actor/grad_norm_first", "actor/grad_norm_last", "actor/pg_clipfrac_first",
    "actor/pg_clipfrac_last", "actor/ppo_kl_first", "actor/ppo_kl_last", "actor/ratio_max_first",
    "actor/ratio_min_first", "replay/ppo_kl_first", "replay/ppo_kl_last", "train/updates",
    // the rollouts of a step
    "critic/advantages/max", "critic/advantages/mean", "critic/advantages/min", "critic/grad_norm",
    "critic/positive_share", "critic/rewards/max", "critic/rewards/mean", "critic/rewards/min",
    "critic/score/max", "critic/score/mean", "critic/score/min", "response_length/clip_ratio",
    "response_length/mean", "train/distinct_prompts_share", "train/epoch",
    "train/frac_reward_zero_std", "train/gradient_cosine_sq", "train/pass_rate",
    "train/pass_rate_rollouts", "train/rollouts_generated", "train/rollouts_trained",
    "rollout/kept_mass_mean", "rollout/kept_mass_min", "rollout/kept_tokens_mean",
    // rollouts that were added to a step
    "experts/rollouts", "greedy/reward_mean", "greedy/rollouts", "guide/rollouts",
    "guide/tokens_mean", "probes/accuracy_mean", "probes/confidence_mean", "probes/steps",
    "replay/groups", "replay/ppo_kl", "replay/ratio_max", "replay/ratio_mean", "replay/ratio_min",
    "replay/rollouts", "replay/staleness_max", "replay/staleness_mean",
    "self_judging/majority_share", "self_judging/reflection_accuracy", "self_judging/tasks",
    "self_judging/verdict_accuracy", "second_pass/continuation_correct",
    "second_pass/continuation_groups", "second_pass/continuation_rollouts",
    "second_pass/error_groups", "second_pass/error_rollouts", "second_pass/intervention_correct",
    "second_pass/intervention_groups", "second_pass/intervention_rollouts", "second_pass/left_out",
    "second_pass/pool_correct", "second_pass/pool_groups", "second_pass/pool_rollouts",
    "second_pass/refinement_correct", "second_pass/refinement_groups",
    "second_pass/refinement_rollouts", "second_pass/rollouts", "success/drift_mean",
    // conversations
    "environment/forks_unmade", "environment/lost", "environment/restarted",
    "environment/reward_mean", "turns/error_share", "turns/invalid_share", "turns/limit_ratio",
    "turns/max", "turns/mean", "turns/no_room_ratio", "turns/reward_mean", "turns/told_tokens_mean",
    "turns/void_share",
    // the scheduler
    "bandit/clipped_pay", "curriculum/passed", "curriculum/stage", "gdro/clipped_gains",
    "gdro/clipped_scores", "gdro/price", "gdro/repaired", "greso/p_easy", "greso/p_hard",
    "rollout_alloc/drawn", "rollout_alloc/entropy", "rollout_alloc/max", "rollout_alloc/mean",
    "rollout_alloc/min", "rollout_alloc/std", "rollout_alloc/total_budget",
    "rollout_alloc/trained"};
constexpr const char* kFamilies[] = {"bandit/value/",
                                     "curriculum/share/",
                                     "domain/rate/",
                                     "gdro/arm_signal/",
                                     "gdro/best_count/",
                                     "gdro/count_spread/",
                                     "gdro/budget/",
                                     "gdro/pass_rate/",
                                     "gdro/population/",
                                     "gdro/probability/",
                                     "gdro/signal/",
                                     "gdro/weight/",
                                     "moving/",
                                     "perf/",
                                     "rollout_alloc/class_share/",
                                     "scoring/",
                                     "timing_s/"};

/// Beginnings of names that only some runs measure.
constexpr struct {
  const char* begin;
  bool (*is_measured)(const RunConfig& config);
} kOfSections[] = {
    {"environment/", task::has_environment},
    {"turns/", task::has_environment},
    {"experts/", [](const RunConfig& c) { return c.experts.share > 0; }},
    {"guide/", [](const RunConfig& c) { return c.guide.share > 0; }},
    {"rollout/kept_tokens", [](const RunConfig& c) { return renormalises(c.sampling); }},
    {"rollout/kept_", [](const RunConfig& c) { return truncates(c.sampling); }},
    {"replay/", [](const RunConfig& c) { return c.replay.share > 0; }},
    {"second_pass/", [](const RunConfig& c) { return shows_exhibits(c); }},
    {"self_judging/", [](const RunConfig& c) { return c.self_judging.share > 0; }},
};

bool is_measured(const RunConfig& config, std::string_view name) {
  return std::none_of(std::begin(kOfSections), std::end(kOfSections), [&](const auto& section) {
    return name.starts_with(section.begin) && !section.is_measured(config);
  });
}

/// The pieces of a family in the run's objective.
std::vector<std::string> pieces_of(const ObjectiveSection& objective, method::Family family) {
  const auto& recipes = method::library().recipes();
  const auto row = std::find_if(recipes.begin(), recipes.end(), [&](const auto& recipe) {
    return recipe.name == objective.recipe;
  });
  std::string joined = row == recipes.end() ? "none" : std::string(row->piece(family));
  for (const auto& [replaced, piece] : objective.pieces)
    if (replaced == method::family_names[std::size_t(family)]) joined = piece;
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= joined.size();) {
    const auto end = std::min(joined.find('+', begin), joined.size());
    if (const auto piece = joined.substr(begin, end - begin); piece != "none")
      pieces.push_back(piece);
    begin = end + 1;
  }
  return pieces;
}

}  // namespace

MetricNames::MetricNames(const RunConfig& config, const std::vector<std::string>& components)
    : families(std::begin(kFamilies), std::end(kFamilies)) {
  std::copy_if(std::begin(kNames), std::end(kNames), std::back_inserter(names),
               [&](const char* name) { return is_measured(config, name); });
  for (const auto& piece : pieces_of(config.objective, method::Family::regularizer))
    names.push_back(fmt::format("actor/{}_loss", piece));
  for (const auto& piece : pieces_of(config.objective, method::Family::reward))
    names.push_back(fmt::format("critic/shaping/{}/mean", piece));
  for (const auto& component : components)
    names.push_back(fmt::format("critic/component/{}/mean", component));
  if (components.empty()) families.emplace_back("critic/component/");
}

bool MetricNames::knows(const std::string& name) const {
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(families.begin(), families.end(), [&](const auto& family) {
           return name.starts_with(family) && name.size() > family.size();
         });
}

void check_keep_best(const RunConfig& config, const std::vector<std::string>& components) {
  const auto& wanted = config.checkpoint.keep_best;
  const std::string name = wanted.starts_with('-') ? wanted.substr(1) : wanted;
  if (name.empty()) return;
  const std::vector<std::string> of_validation{
      "validation/pass_at_1", fmt::format("validation/pass_at_{}", config.eval.pass_k)};
  if (name.starts_with("validation/")) {
    require<ConfigError>(
        std::find(of_validation.begin(), of_validation.end(), name) != of_validation.end(),
        fmt::format("checkpoint.keep_best names {}, which no validation measures", name),
        "no checkpoint would be kept for it", suggest_name(name, of_validation));
    return;
  }
  const MetricNames known(config, components);
  std::vector<std::string> near = known.names;
  near.insert(near.end(), of_validation.begin(), of_validation.end());
  require<ConfigError>(
      known.knows(name),
      fmt::format("checkpoint.keep_best names {}, which a step of this run does not measure", name),
      "no checkpoint would be kept for it", suggest_name(name, near));
}

}  // namespace rollcall::run
