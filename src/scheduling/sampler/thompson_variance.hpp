// The sampler `thompson_variance` (VADE): the prompts whose drawn success rate promises the largest outcome variance.
#pragma once

#include "scheduling/beta_counts.hpp"
#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// p ~ Beta(1 + right, 1 + wrong) per prompt, the step takes those of largest p (1 - p). Counts shrink by fade_all each step and by fade_sampled where a
/// prompt was sampled, then the group's outcomes are added. The decays' form and size are inferred: the paper's listing names two rates without values.
class ThompsonVarianceSampler final : public RankedSampler {
 public:
  explicit ThompsonVarianceSampler(Knowledge& knowledge) : RankedSampler(knowledge) { knowledge.use_outcomes(); }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 private:
  std::vector<double> scores(const StepRequest& request) override;
  double kept(std::uint64_t from, std::uint64_t to) const;  ///< share of evidence that the steps between leave
  double fade_all_ = 0.01, fade_sampled_ = 0.3;
  BetaTable counts_;  // state: evidence without the Beta(1, 1) prior, as of the step noted with it
};

}  // namespace rollcall::scheduling
