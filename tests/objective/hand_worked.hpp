// The small step that every recipe's hand-worked number is worked out on.
#pragma once

#include "plain_step.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::objective::test {

/// One prompt, two rollouts, horizon H = 10. Every old probability is 1/2.
///   rollout 0: reward 1, two tokens with ratios 1.5 and 0.9;   rollout 1: reward 0, one token with
///   ratio 1.1.
/// Rewards: mean 1/2; spread with n - 1: sqrt((1/4 + 1/4) / 1) = 1/sqrt(2).
inline PlainStep worked_step() {
  const double half = std::log(0.5);
  const auto rollout = [&](double reward, const std::vector<double>& ratios) {
    PlainRollout r{0, reward, false, {}, {}, {}, {}, {}};
    r.correct = reward;
    for (const double ratio : ratios) {
      r.now.push_back(half + std::log(ratio));
      r.old.push_back(half);
      r.rollout.push_back(half);
      r.reference.push_back(half);
      r.entropy.push_back(1.0);
    }
    return r;
  };
  return {{rollout(1.0, {1.5, 0.9}), rollout(0.0, {1.1})}, 10.0};
}

struct HandWorked {
  double loss;
  std::vector<double> derivative;                 ///< of the loss in each log-prob
  std::function<PlainStep()> step = worked_step;  ///< another step where the method needs one to
                                                  ///< show itself
};
using HandWorkedTable = std::map<std::string, HandWorked>;

/// One entry a row of recipes.cpp: the files of hand_worked/, put together. Throws when two files
/// work out the same row.
const HandWorkedTable& hand_worked();

// One table a file of hand_worked/.
HandWorkedTable worked_foundation();
HandWorkedTable worked_clipping();
HandWorkedTable worked_corrections();
HandWorkedTable worked_offpolicy();
HandWorkedTable worked_group_losses();
HandWorkedTable worked_regularizers();
HandWorkedTable worked_value();
HandWorkedTable worked_baselines();
HandWorkedTable worked_shaping();
HandWorkedTable worked_credit();
HandWorkedTable worked_shares();
HandWorkedTable worked_rewards();
HandWorkedTable worked_second_pass();
HandWorkedTable worked_turns();
HandWorkedTable worked_conversations();
HandWorkedTable worked_trees();

}  // namespace rollcall::objective::test
