// One row for each recipe that needs more than its objective.
#include "stages/recipe_needs.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <string_view>

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

}  // namespace

void check_recipe_needs(const RunConfig& config) {
  if (!config.train.from_archive.empty()) return;
  for (const Need& need : kNeeds)
    require<ConfigError>(need.recipe != config.objective.recipe || need.is_met(config),
                         fmt::format("objective.recipe is {}, but {}", need.recipe, need.lacking), need.without, need.remedy);
}

}  // namespace rollcall::stages
