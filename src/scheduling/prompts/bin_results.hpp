// What one step brought in each difficulty bin: the numbers that the games of GDRO are played for.
#pragma once

#include "base/config.hpp"
#include "core/plan.hpp"
#include "scheduling/arm_signal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// What counts as a prompt's loss (arXiv:2601.19280, eq. 8). The paper's own, the surrogate loss,
/// has mean zero in every group whose advantages are standardised on-policy, so it says nothing of
/// difficulty there; the failure rate does.
class Signal {
 public:
  void bind(ConfigSchema& knobs);
  double of(const GroupReport& report) const;  ///< NaN where nobody told: no rewards, or a
                                               ///< surrogate loss before the update
  /// range of a signal; a loss has none of its own, so `cap` ends it
  double least(double cap) const { return kind_ == "surrogate_loss" ? -cap : 0.0; }
  double most(double cap) const { return kind_ == "surrogate_loss" ? cap : 1.0; }

 private:
  std::string kind_ = "failure_rate";
};

/// [bins] each. A prompt drawn twice in a step counts twice.
struct BinResults {
  std::vector<std::int64_t> groups{}, rollouts{};  ///< rollouts with a verdict: what training sees
  std::vector<std::int64_t> drawn{};  ///< and those without: what the budget was spent on
  std::vector<double> signal{};       ///< mean over the bin's groups (eq. 13); NaN: no group told
  std::vector<double> gain{};  ///< mean of the groups' gains, each with all its rollouts; NaN: no
                               ///< group told
  std::vector<double> pass_rate{};  ///< share of groups with a correct rollout; NaN: no groups
  std::vector<double> variance{};   ///< mean unbiased variance of a group's rewards; NaN: no group
                                    ///< of two or more
};

/// bin[i]: of reports[i].
BinResults results_by_bin(const std::vector<GroupReport>& reports,
                          const std::vector<std::int32_t>& bin, std::size_t bins,
                          const Signal& signal, const ArmSignal& arm_signal);

}  // namespace rollcall::scheduling
