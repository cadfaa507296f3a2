// The sampler `pairs`: prompts come in pairs of a hard one that was solved and an easy one that was
// failed.
#pragma once

#include "scheduling/sampler/ranked.hpp"

#include <map>

namespace rollcall::scheduling {

/// Places 0, 2, ..: 0 < p <= hard_below; places 1, 3, ..: easy_above <= p < 1, p the success rate
/// of the prompt's latest group (arXiv:2602.03452). Where a side has run out, prompts without
/// results, then any. With pairs_only a side's own prompts fill its places again instead, and the
/// other side's where it has nobody: a prompt of which all rollouts were right or wrong is drawn
/// only where nobody else is left. With measured_before p is PromptTable::prior, which no result
/// changes, and the rarest successes and failures come first, so the pairs are the same in every
/// step, as in the paper. Of the easy prompt it asks at most c failures of G; both bounds here are
/// inferred.
class PairSampler final : public Sampler {
 public:
  explicit PairSampler(Knowledge& knowledge) : knowledge_(&knowledge) { knowledge.use_outcomes(); }
  void bind(ConfigSchema& knobs) override;
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::vector<Need> needs() const override;

 private:
  std::vector<double> preference(bool hard) const;
  std::vector<PromptDraw> side(const StepRequest& request, std::size_t wanted,
                               const std::vector<PromptId>& held, bool hard) const;
  const Knowledge* knowledge_;
  double hard_below_ = 0.5, easy_above_ = 0.5;
  bool pairs_only_ = false, measured_before_ = false;
  std::map<std::uint64_t, double> success_;  // state
};

}  // namespace rollcall::scheduling
