// Samplers that choose, for each place of the step, first an arm (a level, a domain or a difficulty
// bin) and then a prompt of that arm, without replacement.
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace rollcall::scheduling {

class ArmSampler : public Sampler {
 public:
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) final;
  void learn(const std::vector<GroupReport>& reports) final;
  std::vector<Need> needs() const override;
  /// A shortage if there are several prompts and all are in one arm. Bins, which move, are left
  /// out.
  std::optional<Shortage> shortage(const StepRequest& request) const override;

 protected:
  explicit ArmSampler(Knowledge& knowledge, std::string arms)
      : knowledge_(&knowledge), kind_(std::move(arms)) {}
  /// [arms] weight of each arm for the next place; the weights need not sum to 1. `pulled`: [arms]
  /// how many groups the step has from each arm so far.
  virtual std::vector<double> chances(const StepRequest& request,
                                      const std::vector<std::int64_t>& pulled) = 0;
  /// End of a step: the reports, by the arm for which they were drawn.
  virtual void observe(const std::vector<std::vector<const GroupReport*>>& by_arm) { (void)by_arm; }
  void bind_arms(ConfigSchema& knobs);  ///< the knob `arms`, for samplers whose user chooses
  std::size_t arms() const {
    prepare();
    return arms_;
  }
  std::size_t size(std::size_t arm) const { return members(arm).size(); }
  const Knowledge& knowledge() const { return *knowledge_; }

 private:
  void prepare() const;  ///< sorts the prompts into arms, once the knobs are set
  std::size_t arm_of(PromptId prompt) const;
  const std::deque<std::uint32_t>& members(std::size_t arm) const;
  const Knowledge* knowledge_;
  std::string kind_;  // level, domain, level_domain or bin
  mutable std::size_t arms_ = 0;
  mutable std::vector<std::uint32_t> arm_;  // [prompts] unless the arms are bins
  // [arms] ascending ids, unless the arms are bins
  mutable std::vector<std::deque<std::uint32_t>> members_;
  std::map<std::uint64_t, std::size_t> chosen_;  // arm for which each prompt of the open step was
                                                 // drawn; empty between steps
};

}  // namespace rollcall::scheduling
