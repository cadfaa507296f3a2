// The sampler `target_difficulty`: draws prompts with an expected success close to a target.
#pragma once

#include "scheduling/sampler/ranked.hpp"

namespace rollcall::scheduling {

/// With temperature 0, the m prompts with the smallest |V(x) - target| are taken from a random pool
/// of pool_factor * m prompts (arXiv:2510.01135), or from all prompts with pool_factor 0. Otherwise
/// prompts are drawn without replacement with P(x) ~ exp(-|V(x) - target| / temperature)
/// (arXiv:2506.05316). V is Knowledge::success().
class TargetDifficultySampler final : public RankedSampler {
 public:
  explicit TargetDifficultySampler(Knowledge& knowledge) : RankedSampler(knowledge) {
    knowledge.use_success();
  }
  void bind(ConfigSchema& knobs) override;

 private:
  std::vector<double> scores(const StepRequest& request) override;
  By by() const override { return temperature_ > 0 ? By::chance : By::score; }
  double target_ = 0.5;  // as in both papers
  double temperature_ = 0.0;
  std::int64_t pool_factor_ = 0;
};

}  // namespace rollcall::scheduling
