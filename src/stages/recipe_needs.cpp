// One row for each recipe that needs more than its objective.
#include "stages/recipe_needs.hpp"

#include "base/error.hpp"
#include "method/columns.hpp"
#include "reward/verifier.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::stages {
namespace {

struct Need {
  std::string_view recipe;
  bool (*is_met)(const RunConfig& config);
  const char* lacking;
  const char* without;  ///< what it would be
  const char* remedy;
  bool forgets_at_refresh = false;  ///< its data begins anew with each copy of the policy into the reference
};

bool replays(const RunConfig& c) { return c.replay.share > 0; }

/// What a run learns from beside verdicts on its own rollouts, and so would in its control.
struct Leak {
  const char* column;
  const char* what;
};

constexpr Leak kLeaks[] = {
    {method::column::teacher_logprob, "a teacher"},
    {method::column::teacher_kl, "a teacher"},
    {method::column::expert, "worked solutions"},
    {method::column::probe_accuracy, "how probable the reference answer is"},
};

/// Rewards that take the place of the verdict without reading it.
constexpr std::string_view kVerdictless[] = {"confidence"};

/// The parts of a list, without blanks.
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

/// A knob's value: the run file's, else the recipe's own.
std::string knob_of(const RunConfig& config, const std::string& name) {
  std::string value;
  for (const auto& recipe : method::library().recipes())
    for (const auto& [knob, text] : recipe.settings)
      if (recipe.name == config.objective.recipe && knob == name) value = text;
  for (const auto& [knob, text] : config.objective.knobs)
    if (knob == name || knob.ends_with("." + name)) value = text;
  return value;
}

/// Components of the run's verdicts that its recipe pays for; no number where it pays for verdicts
/// and not for their components.
std::optional<std::size_t> paid_components(const RunConfig& config) {
  const auto pieces = reward_pieces(config);
  if (std::find(pieces.begin(), pieces.end(), "components") == pieces.end()) return std::nullopt;
  auto names = config.reward.components;
  if (!config.reward.command.empty()) names.emplace_back("correct");
  else names = reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier).components;
  if (!config.judge.model.empty()) names.push_back(config.judge.component);
  auto unpaid = parts(knob_of(config, "omit_components"), ',');
  for (const auto& weight : parts(knob_of(config, "component_weights"), ','))
    if (const auto equals = weight.find('='); equals != std::string::npos && std::strtod(weight.c_str() + equals + 1, nullptr) == 0.0)
      unpaid.push_back(weight.substr(0, equals));
  return std::count_if(names.begin(), names.end(), [&](const auto& name) { return std::find(unpaid.begin(), unpaid.end(), name) == unpaid.end(); });
}

constexpr Need kNeeds[] = {
    {"dots-rr", replays, "replay.share is 0", "nothing would be replayed, and the rest of the recipe is GRPO", "set replay.share, for example to 0.5"},
    {"skywork-r1v2-ssb", replays, "replay.share is 0", "its buffer of samples would stay unused, and the rest of the recipe is GRPO",
     "set replay.share, for example to 0.5, and replay.choose=advantage"},
    {"remix-squeeze", replays, "replay.share is 0", "no earlier policy's rollouts would be mixed in",
     "set replay.share=0.4, replay.max_staleness=2 and replay.old_policy=current", /*forgets_at_refresh=*/true},
    {"pods", [](const RunConfig& c) { return c.scheduler.policy == "pods"; }, "scheduler.policy is another", "all rollouts would train, and the recipe is GRPO",
     "set scheduler.policy=pods"},
    {"rstar2-agent", [](const RunConfig& c) { return c.scheduler.policy == "rstar2_agent"; }, "scheduler.policy is another",
     "all rollouts would train, and the recipe is GRPO with a wider upper bound", "set scheduler.policy=rstar2_agent"},
    {"t1-inference-scaling", [](const RunConfig& c) { return c.reference.decay < 1 || c.reference.refresh_every > 0; }, "reference.decay is 1",
     "the anchor would not follow the policy", "set reference.decay, for example to 0.99"},
    {"llds", [](const RunConfig& c) { return c.train.epochs * c.train.mini_batches > 1; }, "a step has one optimizer step",
     "no response could have lost likelihood within the step, so its term would be 0 throughout", "set train.mini_batches or train.epochs above 1"},
    {"rm-ensemble-wco-uwo", [](const RunConfig& c) { return paid_components(c).value_or(2) >= 2; }, "fewer than two components count",
     "the least of one score is that score, so nothing would be cautious",
     "name two scorers: reward.components of a reward.command, a model in judge.model beside one, or fewer names in objective.knobs.omit_components"},
};

}  // namespace

void check_policy_needs(const RunConfig& config, const scheduling::Policy& policy) {
  if (!config.train.from_archive.empty()) return;
  const auto wanted = policy.wanted_rollouts(), most = config.scheduler.max_rollouts;
  require<ConfigError>(
      wanted <= most,
      fmt::format("scheduler.policy {} draws up to {} rollouts of a prompt, but scheduler.max_rollouts is {}", config.scheduler.policy, wanted, most),
      "hard prompts would not be lifted as far as its name says",
      fmt::format("set scheduler.max_rollouts={}, or scheduler.knobs.depth_limit={}", wanted, most));
}

void check_control(const RunConfig& config, const method::Method& objective) {
  if (!config.task.shuffle_rewards) return;
  const auto refuse = [&](bool ok, const std::string& what) {
    require<ConfigError>(ok, fmt::format("task.shuffle_rewards is set, but objective.recipe {} learns from {}", config.objective.recipe, what),
                         "verdicts that are permuted would leave it what it learns from, so the run is no control",
                         "leave task.shuffle_rewards out, or choose a recipe that learns from verdicts alone");
  };
  const auto columns = objective.columns();
  for (const Leak& leak : kLeaks) refuse(std::find(columns.begin(), columns.end(), leak.column) == columns.end(), leak.what);
  refuse(config.experts.share == 0.0, "worked solutions");
  for (const auto& piece : reward_pieces(config))
    for (const auto verdictless : kVerdictless) refuse(piece != verdictless, fmt::format("the reward {}, which reads no verdict", piece));
}

bool forgets_at_refresh(const RunConfig& config) {
  return std::any_of(std::begin(kNeeds), std::end(kNeeds), [&](const Need& need) { return need.recipe == config.objective.recipe && need.forgets_at_refresh; });
}

void check_recipe_needs(const RunConfig& config) {
  if (!config.train.from_archive.empty()) return;
  for (const Need& need : kNeeds)
    require<ConfigError>(need.recipe != config.objective.recipe || need.is_met(config),
                         fmt::format("objective.recipe is {}, but {}", need.recipe, need.lacking), need.without, need.remedy);
  require<ConfigError>(paid_components(config).value_or(1) > 0, fmt::format("objective.recipe is {}, but no reward component counts", config.objective.recipe),
                       "all are omitted or weigh 0, so every rollout would be paid the same",
                       "name one in reward.components of a reward.command or judge.component, or change objective.knobs.omit_components");
}

}  // namespace rollcall::stages
