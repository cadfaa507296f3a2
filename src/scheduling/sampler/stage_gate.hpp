// The sampler `stage_gate` (CRAFT-GUI): one level at a time. The next level begins when the current
// one is mastered.
#pragma once

#include "scheduling/sampler/arms.hpp"

namespace rollcall::scheduling {

/// Stages are the task's levels, ascending. A step draws from the current stage. The stage has a
/// fading pass rate f <- gate_decay f + (1 - gate_decay) * pass rate of the step's groups of that
/// stage. When f reaches gate_success, the next stage begins with f = 0; the last stage does not
/// end (arXiv:2508.11360: trajectories in stages from easy to hard; the rule for the next stage is
/// this project's). If a stage has fewer prompts than a step wants, prompts from other stages fill
/// the step.
class StageGateSampler final : public ArmSampler {
 public:
  explicit StageGateSampler(Knowledge& knowledge) : ArmSampler(knowledge, "level") {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  std::vector<double> chances(const StepRequest& request,
                              const std::vector<std::int64_t>& pulled) override;
  void observe(const std::vector<std::vector<const GroupReport*>>& by_arm) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  double success_ = 0.7, decay_ = 0.5;
  std::size_t stage_ = 0;
  double passed_ = 0.0;
};

}  // namespace rollcall::scheduling
