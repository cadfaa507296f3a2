// Distances from the target over a random pool.
#include "scheduling/sampler/target_difficulty.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::scheduling {

void TargetDifficultySampler::bind(ConfigSchema& s) {
  s.bind("target_success", &target_, "success rate that prompts should have", {0, 1});
  s.bind("target_temperature", &temperature_,
         "how strictly: chance ~ exp(-distance / temperature); 0 takes the nearest", {0, 1e6});
  s.bind("pool_factor", &pool_factor_,
         "candidates per prompt of the step, drawn at random; 0: all prompts", {0, 1e6});
}

std::vector<double> TargetDifficultySampler::scores(const StepRequest& request) {
  const double scale = temperature_ > 0 ? 1.0 / temperature_ : 1.0;
  std::vector<double> score(knowledge().size(), -std::numeric_limits<double>::infinity());
  std::vector<PromptDraw> pool;
  if (pool_factor_ > 0) {
    const RandomStream stream = knowledge().random(request.step, std::uint64_t(SamplerUse::pool));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
    for (std::uint64_t p = 0; p < score.size(); ++p) order.emplace_back(stream.bits(p), p);
    const std::size_t count =
        std::min<std::size_t>(score.size(), std::size_t(pool_factor_ * request.prompts));
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(count), order.end());
    for (std::size_t i = 0; i < count; ++i) pool.push_back({{order[i].second}});
  } else {
    for (std::uint64_t p = 0; p < score.size(); ++p) pool.push_back({{p}});
  }
  for (const PromptDraw& candidate : pool)
    score[candidate.prompt.value] =
        -std::abs(knowledge().success(request.step, candidate.prompt) - target_) * scale;
  return score;
}

}  // namespace rollcall::scheduling
