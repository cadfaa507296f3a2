// Square-root weights of the estimated reward variances, made whole by apportion().
#include "scheduling/allocator/square_root.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void SquareRootAllocator::bind(ConfigSchema& s) {
  s.bind("prior_success", &knobs_.prior_success, "success rate assumed of a level without results", {0, 1});
  s.bind("prior_strength", &knobs_.prior_strength, "rollouts that this assumption is worth", {1e-3, 1e9});
  s.bind("level_decay", &knobs_.level_decay, "share of a level's evidence kept per step", {0, 1});
  s.bind("prompt_decay", &knobs_.prompt_decay, "share of a prompt's own evidence kept per step", {0, 1});
  s.bind("level_strength", &knobs_.level_strength, "rollouts that the level's estimate is worth against the prompt's own", {1e-3, 1e9});
  s.bind("variance_floor", &variance_floor_, "least reward variance assumed, so that no level starves", {1e-12, 0.25});
}

std::vector<std::int64_t> SquareRootAllocator::counts(const StepRequest& request, const std::vector<GroupPlan>& groups) {
  std::vector<double> weight(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double p = estimate_.success(request.step, groups[i].id.prompt, groups[i].level);
    weight[i] = std::sqrt(std::max(p * (1.0 - p), variance_floor_));
  }
  return apportion(weight, request.budget, request.min_rollouts, request.max_rollouts);
}

nlohmann::json SquareRootAllocator::save() const { return estimate_.save(); }
void SquareRootAllocator::load(const nlohmann::json& state) { estimate_.load(state); }

bool SquareRootAllocator::load_changed(const nlohmann::json& state, const PromptMap& map) {
  estimate_.load(state);
  estimate_.renumber(map);
  return true;
}

}  // namespace rollcall::scheduling
