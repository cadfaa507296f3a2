// Beta counts with a memory that becomes shorter as the policy drifts.
#include "scheduling/prompts/success_tracker.hpp"

#include "base/text/json.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

SuccessTracker::Counts SuccessTracker::of(PromptId prompt) const {
  if (const auto known = counts_.find(prompt.value); known != counts_.end()) return known->second;
  const double n = 1.0 / (1.0 - law_.memory_min),
               rate = prompt.value < predicted_.size() ? double(predicted_[prompt.value]) : 0.5;
  return {n * rate, n * (1.0 - rate), 0.0, 0.0};
}

void SuccessTracker::learn(PromptId prompt, double correct, double rollouts, double drift) {
  const double memory = std::isnan(drift) ? law_.memory_max
                                          : std::clamp(std::exp2(-drift / law_.drift_half),
                                                       law_.memory_min, law_.memory_max);
  const Counts old = of(prompt);
  counts_[prompt.value] = {memory * old.right + correct, memory * old.wrong + rollouts - correct,
                           old.solved + correct, old.seen + rollouts};
}

nlohmann::json SuccessTracker::save() const {
  auto rows = nlohmann::json::array();
  // doubles print shortest and read back exactly
  for (const auto& [prompt, c] : counts_)
    rows.push_back({prompt, c.right, c.wrong, c.solved, c.seen});
  return rows;
}

void SuccessTracker::load(const nlohmann::json& rows) {
  counts_.clear();
  for (const auto& row : rows)
    counts_[row.at(0).get<std::uint64_t>()] = {row.at(1).get<double>(), row.at(2).get<double>(),
                                               row.at(3).get<double>(), row.at(4).get<double>()};
}

}  // namespace rollcall::scheduling
