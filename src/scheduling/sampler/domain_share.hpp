// The sampler `domain_share` (Apriel-Reasoner): domains are drawn so that their shares of the
// finished rollouts stay at the target shares.
#pragma once

#include "scheduling/sampler/arms.hpp"

namespace rollcall::scheduling {

/// P(d) ~ target_d * clamp(target_d / observed_d, 0.1, 10), where observed_d is the domain's share
/// of all rollouts that have finished since the start, including those that did not train. Before
/// 50 rollouts have finished, P(d) = target_d (arXiv:2604.02007 and its authors' PipelineRL).
class DomainShareSampler final : public ArmSampler {
 public:
  explicit DomainShareSampler(Knowledge& knowledge) : ArmSampler(knowledge, "domain") {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  /// Metrics named domain/rate/<domain>.
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  std::vector<double> chances(const StepRequest& request,
                              const std::vector<std::int64_t>& pulled) override;
  void observe(const std::vector<std::vector<const GroupReport*>>& by_arm) override;
  std::vector<double> targets() const;  ///< [domains], sums to 1
  std::vector<double> rates() const;    ///< [domains], sums to 1
  std::vector<double> target_;  // by ascending domain; empty: the domains' shares of the training
                                // prompts
  // saved state: [domains] rollouts since the start; empty before the first step
  std::vector<double> finished_;
};

}  // namespace rollcall::scheduling
