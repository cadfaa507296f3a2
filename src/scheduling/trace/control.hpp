// Controls replace the results that a scheduler learns from on purpose. A gain that remains does
// not come from learning.
#pragma once

#include "base/numbers/random.hpp"
#include "base/text/config.hpp"
#include "core/plan.hpp"

#include <string>
#include <vector>

namespace rollcall::scheduling {

/// The results from which a scheduler learns at the end of a step, instead of the reports:
///   constant   every reward is 1/2, all are correct, every loss is 0, and every mean absolute
///              advantage is 1/2
///   shuffled   the step's rollouts (reward with correctness) are permuted over all its groups,
///              which keep their sizes; the groups' losses and advantages are permuted as well
///   inverted   signals of the games change their sign, and the pay x of bandits becomes 1 - x
/// Shuffled results keep the step's mean, from which a bandit that fills whole steps with one arm
/// still learns; the control for such a bandit is `constant`. Pass rates, by which prompts are
/// sorted into difficulty bins, are never replaced, so the control of a game has the bins of the
/// game.
class Control {
 public:
  void bind(ConfigSchema& knobs);
  bool on() const { return kind_ != "none"; }
  bool inverted() const { return kind_ == "inverted"; }
  double sign() const { return inverted() ? -1.0 : 1.0; }  ///< factor on the games' signals
  std::vector<GroupReport> heard(std::vector<GroupReport> reports,
                                 const RandomStream& random) const;

 private:
  std::string kind_ = "none";
};

}  // namespace rollcall::scheduling
