// What a recipe says of the runs in which it acts: what is left of it where every ratio is 1, for
// which rewards its constants are, on which answers it acts, and whether it reads advantages.
#pragma once

#include "objective/objective.hpp"

#include <string>
#include <vector>

namespace rollcall::objective {

/// What is left of a recipe in a step with one update of the policy that sampled it, where every
/// ratio is 1.
struct OnPolicy {
  std::vector<std::string> idle{};  ///< pieces that change no derivative, as "weight tis"
  std::string acts_as{};  ///< the first row of the table, above the recipe's own, whose pieces and
                          ///< settings are the same without those; empty: there is none
};

/// What a piece takes for the largest reward of the verifier.
struct LargestReward {
  std::string piece{};    ///< family and name, as "advantage virtual_best"
  std::string setting{};  ///< knob that says it; empty: it compares with shares of right answers
  double reward = 1.0;
};

/// A piece of which a part acts only on answers of at least so many tokens.
struct LeastLength {
  std::string piece{};    ///< family and name, as "reward repetition"
  std::string setting{};  ///< the knob that sets the length
  double tokens = 0.0;
};

OnPolicy on_policy(const Objective& objective);
std::vector<LargestReward> largest_rewards(const Objective& objective);
std::vector<LeastLength> least_lengths(const Objective& objective);
bool reads_advantage(const Objective& objective);  ///< and so the weights of a scheduler

}  // namespace rollcall::objective
