// The sampler `pairs`: prompts come in pairs of a hard prompt that is sometimes solved and an easy
// prompt that is sometimes failed.
#pragma once

#include "scheduling/sampler/ranked.hpp"

#include <map>

namespace rollcall::scheduling {

/// Places 0, 2, .. take hard prompts with 0 < p <= hard_below, places 1, 3, .. easy prompts with
/// easy_above <= p < 1, where p is the success rate of the prompt's latest group
/// (arXiv:2602.03452). When a side has no more prompts, prompts without results fill its places,
/// then any others. With pairs_only, the side's own prompts are repeated instead, or those of the
/// other side if it has none; a prompt whose rollouts were all right or all wrong is drawn only
/// when no other is left. With measured_before, p is PromptTable::prior, which no result changes,
/// and the prompts with the rarest successes and failures come first. The pairs are then the same
/// in every step, as in the paper. The paper requires at most c failures of G from the easy prompt;
/// both bounds here are inferred.
class PairSampler final : public Sampler {
 public:
  explicit PairSampler(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.signals.use_outcomes();
  }
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
  // saved state: success rate of each prompt's latest group
  std::map<std::uint64_t, double> success_;
};

}  // namespace rollcall::scheduling
