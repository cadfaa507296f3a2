// The sampler `variance_mix` (MMR1): part of the step is drawn by the variance promotion score, and
// the rest comes from the shuffled pass over the data.
#pragma once

#include "scheduling/sampler/ranked.hpp"
#include "scheduling/sampler/uniform.hpp"

#include <map>

namespace rollcall::scheduling {

/// floor(share * prompts) prompts are drawn without replacement with chances ~ outcome_weight * p
/// (1 - p) + diversity_weight * d (arXiv:2509.21268), where p = Knowledge::success() and d is the
/// latest GroupReport::diversity of the prompt (0 if it was not measured). What differs: estimates
/// come from the rollouts of every step, whereas the paper samples every prompt again every T
/// steps.
class VarianceMixSampler final : public Sampler {
 public:
  explicit VarianceMixSampler(Knowledge& knowledge)
      : knowledge_(&knowledge), shuffle_(knowledge.size(), knowledge.seed) {
    knowledge.use_success();
  }
  void bind(ConfigSchema& knobs) override;
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::vector<Need> needs() const override {
    if (diversity_weight_ == 0) return {};
    return {{"diversity",
             "diversity_weight is above zero, so its scores count how much a group's texts differ",
             measure_}};
  }
  double score(std::uint64_t step, PromptId prompt) const;

 private:
  const Knowledge* knowledge_;
  // the released configuration's; the paper has weights 0.8 and 0.2
  double share_ = 0.5, outcome_weight_ = 1.0, diversity_weight_ = 0.0;
  std::string measure_ = "self_bleu";
  UniformSampler shuffle_;                     // saved state
  std::map<std::uint64_t, double> diversity_;  // saved state: latest one by prompt
};

}  // namespace rollcall::scheduling
