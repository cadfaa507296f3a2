// The sampler `tracked_deviation` (SPO): drawn in proportion to the tracked outcome deviation plus an exploration floor.
#pragma once

#include "scheduling/beta_counts.hpp"
#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// Without replacement with weight sqrt(p (1 - p)) + exploration, p = a / (a + b) (arXiv:2509.13232). After a group: a <- rho a + right, b <- rho b + wrong with
/// rho = clip(2^(-D / drift_half), memory_min, memory_max), D = GroupReport::drift; memory_max where no stage measures it. The paper's groups hold one rollout.
/// Start: N0 = 1 / (1 - memory_min) pseudo-counts at PromptTable::prior, which carries the paper's smoothed offline rate (k + 0.5) / (n0 + 1), else at 0.5.
class TrackedDeviationSampler final : public RankedSampler {
 public:
  explicit TrackedDeviationSampler(Knowledge& knowledge) : RankedSampler(knowledge) { knowledge.use_outcomes(); }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  BetaCounts tracked(PromptId prompt) const;

 private:
  std::vector<double> scores(const StepRequest& request) override;
  By by() const override { return By::chance; }
  double memory_min_ = 0.875, memory_max_ = 0.96, drift_half_ = 0.06, exploration_ = 0.05;  // the paper's
  BetaTable counts_;                                                                        // state
};

}  // namespace rollcall::scheduling
