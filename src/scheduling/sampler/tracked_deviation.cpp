// Prompts by the spread of their tracked success.
#include "scheduling/sampler/tracked_deviation.hpp"

#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void TrackedDeviationSampler::bind(ConfigSchema& s) {
  s.bind("exploration", &exploration_, "weight of a prompt without any outcome variance",
         {1e-9, 1e9});
}

std::vector<double> TrackedDeviationSampler::scores(const StepRequest&) {
  std::vector<double> score(knowledge().size());
  for (std::uint64_t p = 0; p < score.size(); ++p) {
    const double rate = tracked({p}).prior();
    score[p] = std::log(std::sqrt(std::max(rate * (1.0 - rate), 0.0)) + exploration_);
  }
  return score;
}

void TrackedDeviationSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports)
    tracker_.learn(report.id.prompt, right(report), double(report.correct.size()), report.drift);
}

nlohmann::json TrackedDeviationSampler::save() const { return {{"counts", tracker_.save()}}; }
void TrackedDeviationSampler::load(const nlohmann::json& state) {
  tracker_.load(state.at("counts"));
}

}  // namespace rollcall::scheduling
