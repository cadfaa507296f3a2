// What the rollouts of a prompt are worth to the rollout game, as a function of how many there are.
#pragma once

#include "base/config.hpp"
#include "core/plan.hpp"

#include <cstddef>
#include <string>

namespace rollcall::scheduling {

/// J(n) of arXiv:2601.19280, eq. 18, as the outcome of a group's first n rollouts. Arms can be
/// ranked by what depends on n only:
///   informative      1 where the first n rewards differ, else 0
///   variance_proxy   -v / n, v their unbiased variance; whose optimum is the square-root law (eq.
///   30)
///   solved           1 where one of the first n is correct, else 0
/// and not by a mean: failure_rate (minus it) and surrogate_loss (minus it) are there for the
/// paper's own rows.
class ArmSignal {
 public:
  void bind(ConfigSchema& knobs);
  const std::string& name() const { return kind_; }
  bool ranks_arms() const { return kind_ != "failure_rate" && kind_ != "surrogate_loss"; }
  /// NaN where that cannot be said: no rewards, one for a variance, no loss told
  double gain(const GroupReport& report, std::size_t n) const;
  double least(double cap) const;  ///< range of a gain; a loss has none of its own, so `cap` ends
                                   ///< it
  double most(double cap) const;

 private:
  std::string kind_ = "informative";
};

}  // namespace rollcall::scheduling
