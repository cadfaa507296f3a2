// Policies made deaf on purpose: what is learned of a step is replaced, so that a gain that stays
// was not made by learning.
#pragma once

#include "base/config.hpp"
#include "base/random.hpp"
#include "core/plan.hpp"

#include <string>
#include <vector>

namespace rollcall::scheduling {

/// What a policy hears at the end of a step instead of the reports:
///   constant   every reward 1/2, all correct, loss 0, mean absolute advantage 1/2
///   shuffled   the step's rollouts (reward with correctness) change places over all its groups,
///   whose sizes stay; so do the groups' losses and advantages inverted   signals of the games
///   change their sign, the pay x of bandits becomes 1 - x
/// Shuffled results keep the step's mean: a bandit that fills whole steps with one arm still hears
/// it, and `constant` is its control.
/// The pass rates that sort prompts into difficulty bins hear the truth: the controls of a game
/// keep its bins.
class Control {
 public:
  void bind(ConfigSchema& knobs);
  bool on() const { return kind_ != "none"; }
  bool inverted() const { return kind_ == "inverted"; }
  double sign() const { return inverted() ? -1.0 : 1.0; }  ///< of the games' signals
  std::vector<GroupReport> heard(std::vector<GroupReport> reports,
                                 const RandomStream& random) const;

 private:
  std::string kind_ = "none";
};

}  // namespace rollcall::scheduling
