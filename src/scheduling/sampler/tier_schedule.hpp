// The sampler `tier_schedule` (RMT): draws levels from a distribution that moves from easy to hard
// as the run progresses.
#pragma once

#include "scheduling/sampler/arms.hpp"

namespace rollcall::scheduling {

/// P_t(level) = (1 - u) start + u final with u = clip((progress - from) / (to - from), 0, 1)
/// (arXiv:2509.24375). The two distributions are not published. By default (inferred) the first one
/// falls and the second one rises linearly over the levels.
class TierScheduleSampler final : public ArmSampler {
 public:
  explicit TierScheduleSampler(Knowledge& knowledge) : ArmSampler(knowledge, "level") {}
  void bind(ConfigSchema& knobs) override;
  std::vector<double> chances(const StepRequest& request,
                              const std::vector<std::int64_t>& pulled) override;
  /// curriculum/share/<number of the level, from 0, in ascending order>
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  double from_ = 0.3, to_ = 0.7;       // t1 and t2 of the paper
  std::vector<double> start_, final_;  // by ascending level; empty: linear
  std::vector<double> mix_;            // shares of the levels in the latest step
};

}  // namespace rollcall::scheduling
