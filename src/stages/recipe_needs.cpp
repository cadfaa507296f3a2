// One row for each recipe that needs more than its objective.
#include "stages/recipe_needs.hpp"

#include "base/error.hpp"
#include "method/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
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

constexpr Need kNeeds[] = {
    {"dots-rr", replays, "replay.share is 0", "nothing would be replayed, and the rest of the recipe is GRPO", "set replay.share, for example to 0.5"},
    {"skywork-r1v2-ssb", replays, "replay.share is 0", "its buffer of samples would stay unused, and the rest of the recipe is GRPO",
     "set replay.share, for example to 0.5, and replay.choose=advantage"},
    {"remix-squeeze", replays, "replay.share is 0", "no earlier policy's rollouts would be mixed in",
     "set replay.share=0.4, replay.max_staleness=2 and replay.old_policy=current"},
    {"pods", [](const RunConfig& c) { return c.scheduler.policy == "pods"; }, "scheduler.policy is another", "all rollouts would train, and the recipe is GRPO",
     "set scheduler.policy=pods"},
    {"rstar2-agent", [](const RunConfig& c) { return c.scheduler.policy == "rstar2_agent"; }, "scheduler.policy is another",
     "all rollouts would train, and the recipe is GRPO with a wider upper bound", "set scheduler.policy=rstar2_agent"},
    {"t1-inference-scaling", [](const RunConfig& c) { return c.reference.decay < 1 || c.reference.refresh_every > 0; }, "reference.decay is 1",
     "the anchor would not follow the policy", "set reference.decay, for example to 0.99"},
    {"llds", [](const RunConfig& c) { return c.train.epochs * c.train.mini_batches > 1; }, "a step has one optimizer step",
     "no response could have lost likelihood within the step, so its term would be 0 throughout", "set train.mini_batches or train.epochs above 1"},
};

std::vector<std::string> reward_pieces(const RunConfig& config) {
  std::string names;
  for (const auto& recipe : method::library().recipes())
    if (recipe.name == config.objective.recipe) names = recipe.piece(method::Family::reward);
  for (const auto& [family, piece] : config.objective.pieces)
    if (family == "reward") names = piece;
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= names.size();) {
    const auto end = std::min(names.find('+', begin), names.size());
    pieces.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

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

void check_recipe_needs(const RunConfig& config) {
  if (!config.train.from_archive.empty()) return;
  for (const Need& need : kNeeds)
    require<ConfigError>(need.recipe != config.objective.recipe || need.is_met(config),
                         fmt::format("objective.recipe is {}, but {}", need.recipe, need.lacking), need.without, need.remedy);
}

}  // namespace rollcall::stages
