// Tracks how often each prompt is solved. The sampler that draws by this rate and the baselines
// that subtract it use the same rule.
#pragma once

#include "base/numbers/id.hpp"
#include "core/run_config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace rollcall::scheduling {

/// Single-stream Policy Optimization, arXiv:2509.13232. A success is what the verifier calls
/// correct. After a group of the prompt: right <- rho right + correct, wrong <- rho wrong +
/// incorrect with rho = clip(2^(-D / drift_half), memory_min, memory_max). D is the mean of
/// |log-prob now - log-prob when sampled| over the prompt's previous rollout; without one, rho is
/// memory_max. The counts start with N0 = 1 / (1 - memory_min) rollouts at the predicted success
/// rate, which may be SPO's smoothed offline rate (k + 0.5) / (n0 + 1), or at 1/2 without a
/// prediction. Two trackers that learn from the same groups with the same settings are equal.
class SuccessTracker {
 public:
  /// `predicted`: [prompts] success that a value model or offline samples predict; 1/2 for prompts
  /// beyond its end.
  explicit SuccessTracker(const SuccessSection& law, std::vector<float> predicted = {})
      : law_(law), predicted_(std::move(predicted)) {}
  SuccessTracker() = default;  ///< the paper's settings, without predictions

  /// One prompt's results. All are counts of rollouts.
  struct Counts {
    double right = 0.0, wrong = 0.0;  ///< faded counts, which begin with the N0 rollouts
    double solved = 0.0, seen = 0.0;  ///< counts of the whole run, not faded
    double prior() const { return right / (right + wrong); }
    /// Mean of Beta(1 + solved, 1 + failed): MSSR, arXiv:2512.18215.
    double posterior() const { return (1.0 + solved) / (2.0 + seen); }
  };
  Counts of(PromptId prompt) const;
  void learn(PromptId prompt, double correct, double rollouts,
             double drift = std::numeric_limits<double>::quiet_NaN());

  nlohmann::json save() const;  ///< [prompt, right, wrong, solved, seen] of every prompt with
                                ///< results
  void load(const nlohmann::json& rows);

 private:
  SuccessSection law_{};
  std::vector<float> predicted_;
  // saved state; ordered, so that equal states give equal text
  std::map<std::uint64_t, Counts> counts_;
};

}  // namespace rollcall::scheduling
