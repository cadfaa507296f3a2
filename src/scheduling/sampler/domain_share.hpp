// The sampler `domain_share` (Apriel-Reasoner): domains drawn so that the rollouts that can train keep their target shares.
#pragma once

#include "scheduling/sampler/arms.hpp"

namespace rollcall::scheduling {

/// w_d <- w_d * (target_d / observed_d)^share_rate, then P(d) ~ w_d; observed_d: the domain's share of the step's rollouts in groups whose rewards differ. The
/// update is inferred from the paper's description (arXiv:2604.02007); a ratio counts at most 4 and at least 1/4 in one step, so that a small step cannot upset it.
class DomainShareSampler final : public ArmSampler {
 public:
  explicit DomainShareSampler(Knowledge& knowledge) : ArmSampler(knowledge, "domain") { knowledge.use_outcomes(); }
  void bind(ConfigSchema& knobs) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::vector<std::pair<std::string, double>> metrics() const override;  ///< domain/rate/<domain>

 private:
  std::vector<double> chances(const StepRequest& request, const std::vector<std::int64_t>& pulled) override;
  void observe(const std::vector<std::vector<const GroupReport*>>& by_arm) override;
  std::vector<double> targets() const;  ///< [domains], sums to 1
  double rate_ = 1.0;
  std::vector<double> target_;  // by ascending domain; empty: the domains' shares of the training prompts
  std::vector<double> weight_;  // state: [domains], sums to 1; empty before the first step
};

}  // namespace rollcall::scheduling
