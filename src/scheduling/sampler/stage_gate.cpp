// The current level and its fading pass rate.
#include "scheduling/sampler/stage_gate.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

namespace rollcall::scheduling {

void StageGateSampler::bind(ConfigSchema& s) {
  s.bind("gate_success", &success_, "pass rate of a stage at which the next begins", {0, 1});
  s.bind("gate_decay", &decay_, "what is left of a stage's pass rate after a step", {0, 1});
}

std::vector<double> StageGateSampler::chances(const StepRequest&,
                                              const std::vector<std::int64_t>&) {
  std::vector<double> chance(arms(), 0.0);
  chance[stage_] = 1.0;
  return chance;
}

void StageGateSampler::observe(const std::vector<std::vector<const GroupReport*>>& by_arm) {
  const auto& groups = by_arm[stage_];
  if (groups.empty()) return;
  double passed = 0.0;
  for (const GroupReport* group : groups) passed += success(*group) / double(groups.size());
  passed_ = decay_ * passed_ + (1.0 - decay_) * passed;
  if (passed_ >= success_ && stage_ + 1 < arms()) ++stage_, passed_ = 0.0;
}

nlohmann::json StageGateSampler::save() const { return {{"stage", stage_}, {"passed", passed_}}; }

void StageGateSampler::load(const nlohmann::json& state) {
  const auto stage = state.at("stage").get<std::size_t>();
  require<StorageError>(stage < arms(),
                        fmt::format("a saved curriculum at stage {} of {}", stage, arms()),
                        "the run would not continue where it stopped",
                        "resume with the task section the run was started with");
  stage_ = stage, passed_ = state.at("passed").get<double>();
}

std::vector<std::pair<std::string, double>> StageGateSampler::metrics() const {
  return {{"curriculum/stage", double(stage_)}, {"curriculum/passed", passed_}};
}

}  // namespace rollcall::scheduling
