// The results of one step in each difficulty bin, from which the games of GDRO learn.
#pragma once

#include "base/text/config.hpp"
#include "core/plan.hpp"
#include "scheduling/arm_signal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// The quantity that counts as a prompt's loss (arXiv:2601.19280, eq. 8). The paper takes the
/// surrogate loss. Its mean is zero in every group whose advantages are standardised on-policy, so
/// it says nothing about difficulty there; the failure rate does.
class Signal {
 public:
  void bind(ConfigSchema& knobs);
  double of(const GroupReport& report) const;  ///< NaN if it is unknown: without rewards, or for a
                                               ///< surrogate loss before the update
  /// Smallest and largest signal. A loss has no natural range, so its range ends at `cap`.
  double least(double cap) const { return kind_ == "surrogate_loss" ? -cap : 0.0; }
  double most(double cap) const { return kind_ == "surrogate_loss" ? cap : 1.0; }

 private:
  std::string kind_ = "failure_rate";
};

/// Every member except the last has one entry per bin. A prompt drawn twice in a step counts twice.
struct BinResults {
  std::vector<std::int64_t> groups{}, rollouts{};  ///< rollouts with a verdict: what training sees
  std::vector<std::int64_t> drawn{};  ///< rollouts with or without a verdict: what was spent
  std::vector<double> signal{};       ///< mean over the bin's groups (eq. 13); NaN if no group has
                                      ///< a signal
  std::vector<double> gain{};       ///< mean of the groups' gains, each with all its rollouts; NaN
                                    ///< if no group has a gain
  std::vector<double> pass_rate{};  ///< share of groups with a correct rollout; NaN: no groups
  std::vector<double> variance{};   ///< mean unbiased variance of a group's rewards; NaN: no group
                                    ///< of two or more
  std::vector<std::int32_t> bin_of_report{};  ///< [reports] bin of each report
};

/// bin: [reports] bin of each report.
BinResults results_by_bin(const std::vector<GroupReport>& reports,
                          const std::vector<std::int32_t>& bin, std::size_t bins,
                          const Signal& signal, const ArmSignal& arm_signal);

}  // namespace rollcall::scheduling
