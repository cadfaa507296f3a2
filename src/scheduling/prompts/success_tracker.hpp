// How often each prompt is solved, as one rule for all who ask: the sampler that draws by it, and
// the baselines that subtract it.
#pragma once

#include "base/id.hpp"
#include "core/run_config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace rollcall::scheduling {

/// Single-stream Scheduler Optimization, arXiv:2509.13232. A success is what the verifier calls
/// correct. After a group of the prompt: right <- rho right + correct, wrong <- rho wrong +
/// incorrect with rho = clip(2^(-D / drift_half), memory_min, memory_max), D the mean |log-prob now
/// - when sampled| over the prompt's previous rollout; memory_max where there is none to measure.
/// Start: N0 = 1 / (1 - memory_min) rollouts' worth of the prediction, which carries SPO's smoothed
/// offline rate (k + 0.5) / (n0 + 1); else of 1/2. Whoever learns from the same groups with the
/// same law knows the same.
class SuccessTracker {
 public:
  /// `predicted`: [prompts] success that a value model or offline samples expect; 1/2 of prompts
  /// beyond it.
  explicit SuccessTracker(const SuccessSection& law, std::vector<float> predicted = {})
      : law_(law), predicted_(std::move(predicted)) {}
  SuccessTracker() = default;  ///< the paper's law, nothing predicted

  /// One prompt's results. All are counts of rollouts.
  struct Counts {
    double right = 0.0, wrong = 0.0;  ///< faded, with the start's
    double solved = 0.0, seen = 0.0;  ///< all so far, none faded
    double prior() const { return right / (right + wrong); }
    /// mean of Beta(1 + solved, 1 + failed): MSSR, arXiv:2512.18215
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
  std::map<std::uint64_t, Counts> counts_;  // state; ordered, so that equal states are equal texts
};

}  // namespace rollcall::scheduling
