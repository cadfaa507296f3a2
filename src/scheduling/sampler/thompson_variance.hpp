// The sampler `thompson_variance` (VADE): draws a success rate for every prompt and takes the
// prompts with the largest information gain at that rate.
#pragma once

#include "scheduling/prompts/beta_counts.hpp"
#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// p ~ Beta(1 + right, 1 + wrong) for each prompt; the step takes the prompts with the largest p (1
/// - p)^2. A step that samples the prompt multiplies its counts by 1 - fade_sampled and adds the
/// group's outcomes; any other step multiplies them by 1 - fade_all (arXiv:2511.18902; both numbers
/// are from the paper's figure of the method).
class ThompsonVarianceSampler final : public RankedSampler {
 public:
  explicit ThompsonVarianceSampler(Knowledge& knowledge) : RankedSampler(knowledge) {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 private:
  std::vector<double> scores(const StepRequest& request) override;
  /// The share of evidence that is left after the steps between the two.
  double kept(std::uint64_t from, std::uint64_t to) const;
  double fade_all_ = 0.001, fade_sampled_ = 0.8;
  // saved state: evidence without the Beta(1, 1) prior, as of the step noted with it
  BetaTable counts_;
};

}  // namespace rollcall::scheduling
