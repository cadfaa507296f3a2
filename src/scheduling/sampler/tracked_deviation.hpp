// The sampler `tracked_deviation` (SPO): prompts are drawn in proportion to the tracked standard
// deviation of their outcome, plus an exploration floor.
#pragma once

#include "scheduling/prompts/success_tracker.hpp"
#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// Prompts are drawn without replacement with the weight sqrt(p (1 - p)) + exploration, where p =
/// SuccessTracker::Counts::prior() (arXiv:2509.13232). The paper's groups have one rollout.
class TrackedDeviationSampler final : public RankedSampler {
 public:
  explicit TrackedDeviationSampler(Knowledge& knowledge)
      : RankedSampler(knowledge), tracker_(knowledge.prompts.law, knowledge.prompts.prior) {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  SuccessTracker::Counts tracked(PromptId prompt) const { return tracker_.of(prompt); }

 private:
  std::vector<double> scores(const StepRequest& request) override;
  By by() const override { return By::chance; }
  double exploration_ = 0.05;  // the paper's
  SuccessTracker tracker_;     // saved state
};

}  // namespace rollcall::scheduling
