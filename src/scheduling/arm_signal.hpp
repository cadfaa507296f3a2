// The value of a prompt's rollouts to the rollout game, as a function of their number.
#pragma once

#include "base/text/config.hpp"
#include "core/plan.hpp"

#include <cstddef>
#include <string>

namespace rollcall::scheduling {

/// The gain J(n) of arXiv:2601.19280, eq. 18, from a group's first n rollouts. An arm is a count n.
/// Three signals depend on n in expectation, so they can rank arms:
///   informative      1 if the first n rewards differ, else 0
///   variance_proxy   -v / n with v their unbiased variance; its optimum is the square-root law
///                    (eq. 30)
///   solved           1 if one of the first n is correct, else 0
/// The other two are means, so their expectation is the same for any n. They exist for the rows
/// that follow the paper:
///   failure_rate     minus the failure rate
///   surrogate_loss   minus the group's surrogate loss
class ArmSignal {
 public:
  void bind(ConfigSchema& knobs);
  const std::string& name() const { return kind_; }
  bool ranks_arms() const { return kind_ != "failure_rate" && kind_ != "surrogate_loss"; }
  /// NaN if the gain is unknown: without rewards, for a variance of one reward, or without a loss.
  double gain(const GroupReport& report, std::size_t n) const;
  /// Smallest and largest gain for rewards in [0, 1]. A loss has no natural range, so its range
  /// ends at `cap`. Gains for rewards beyond [0, 1] may lie outside.
  double least(double cap) const;
  double most(double cap) const;

 private:
  std::string kind_ = "informative";
};

}  // namespace rollcall::scheduling
