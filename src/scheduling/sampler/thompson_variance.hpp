// The sampler `thompson_variance` (VADE): the prompts whose drawn success rate promises the largest
// information gain.
#pragma once

#include "scheduling/prompts/beta_counts.hpp"
#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// p ~ Beta(1 + right, 1 + wrong) per prompt, the step takes those of largest p (1 - p)^2. A step
/// that samples the prompt leaves 1 - fade_sampled of its counts and adds the group's outcomes, any
/// other step leaves 1 - fade_all (arXiv:2511.18902; the two numbers are those of its figure of the
/// method).
class ThompsonVarianceSampler final : public RankedSampler {
 public:
  explicit ThompsonVarianceSampler(Knowledge& knowledge) : RankedSampler(knowledge) {
    knowledge.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 private:
  std::vector<double> scores(const StepRequest& request) override;
  /// share of evidence that the steps between the two leave
  double kept(std::uint64_t from, std::uint64_t to) const;
  double fade_all_ = 0.001, fade_sampled_ = 0.8;
  BetaTable counts_;  // state: evidence without the Beta(1, 1) prior, as of the step noted with it
};

}  // namespace rollcall::scheduling
