// Beta trackers whose memory shortens as the policy drifts.
#include "scheduling/sampler/tracked_deviation.hpp"

#include "scheduling/outcomes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void TrackedDeviationSampler::bind(ConfigSchema& s) {
  s.bind("memory_min", &memory_min_, "least share of the evidence kept when a prompt is seen again", {0, 0.999999});
  s.bind("memory_max", &memory_max_, "largest share of it", {0, 1});
  s.bind("drift_half", &drift_half_, "drift of the log-probabilities that halves the evidence", {1e-9, 1e9});
  s.bind("exploration", &exploration_, "weight of a prompt without any outcome variance", {1e-9, 1e9});
}

BetaCounts TrackedDeviationSampler::tracked(PromptId prompt) const {
  if (const auto known = counts_.find(prompt.value); known != counts_.end()) return known->second;
  const auto& prior = knowledge().prompts().prior;
  const double n = 1.0 / (1.0 - memory_min_), rate = prior.empty() ? 0.5 : double(prior[prompt.value]);
  return {n * rate, n * (1.0 - rate), 0};
}

std::vector<double> TrackedDeviationSampler::scores(const StepRequest&) {
  std::vector<double> score(knowledge().size());
  for (std::uint64_t p = 0; p < score.size(); ++p) {
    const double rate = tracked({p}).mean();
    score[p] = std::log(std::sqrt(std::max(rate * (1.0 - rate), 0.0)) + exploration_);
  }
  return score;
}

void TrackedDeviationSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    const double memory = std::isnan(report.drift) ? memory_max_ : std::max(memory_min_, std::min(memory_max_, std::exp2(-report.drift / drift_half_)));
    const BetaCounts old = tracked(report.id.prompt);
    counts_[report.id.prompt.value] = {memory * old.right + right(report), memory * old.wrong + double(report.correct.size()) - right(report), report.id.step};
  }
}

nlohmann::json TrackedDeviationSampler::save() const { return {{"counts", beta_rows(counts_)}}; }
void TrackedDeviationSampler::load(const nlohmann::json& state) { counts_ = beta_table(state.at("counts")); }

}  // namespace rollcall::scheduling
