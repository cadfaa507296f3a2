// The sampler `pairs`: prompts come in pairs of a hard one that was solved and an easy one that was failed.
#pragma once

#include "scheduling/sampler/ranked.hpp"

#include <map>

namespace rollcall::scheduling {

/// Places 0, 2, ..: 0 < p <= hard_below; places 1, 3, ..: easy_above <= p < 1, p the success rate of the prompt's latest group (arXiv:2602.03452). Where a side has
/// run out, prompts without results, then any. The paper measures its pairs before training and asks of the easy one at most c failures of G;
/// both bounds here are inferred.
class PairSampler final : public Sampler {
 public:
  explicit PairSampler(Knowledge& knowledge) : knowledge_(&knowledge) { knowledge.use_outcomes(); }
  void bind(ConfigSchema& knobs) override;
  std::vector<Draw> choose(const StepRequest& request, const std::vector<PromptId>& held) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 private:
  std::vector<double> preference(bool hard) const;
  const Knowledge* knowledge_;
  double hard_below_ = 0.5, easy_above_ = 0.5;
  std::map<std::uint64_t, double> success_;  // state
};

}  // namespace rollcall::scheduling
