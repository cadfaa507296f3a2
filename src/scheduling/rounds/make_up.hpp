// The rounds `make_up` (DARS): a second round gives hard prompts enough rollouts for their
// advantage mass to equal that of a prompt that is right half the time.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// After N rollouts with accuracy a < 1/2 (a = 1/(2N) if no rollout was right): S(a) = 2 a (1 - a),
/// or 2 sqrt(a (1 - a)) for standardised advantages, and P = N S(1/2). Equal treatment draws
/// ceil((P - N S) / S) more rollouts, and hardness-weighted treatment ceil((2 (1 - a) P - N S) /
/// S). A group gets at most depth_limit rollouts in all (arXiv:2508.13755), and at most the step's
/// max_rollouts. A group without a verdict has no accuracy and gets no more.
class MakeUpRounds final : public Rounds {
 public:
  void bind(ConfigSchema& knobs) override;
  bool looks() const override { return true; }
  std::int64_t most_rounds() const override { return 2; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return false; }
  std::int64_t hard_cap(const StepRequest& request) const override;
  std::optional<Shortage> shortage(const StepRequest& request) const override;
  std::int64_t extra(std::int64_t rollouts, double accuracy) const;

 private:
  std::string depth_ = "equal";
  std::int64_t limit_ = 32;  // the paper's value for equal treatment; it has 64 for
                             // hardness-weighted treatment
  bool standardised_ = false;
};

}  // namespace rollcall::scheduling
