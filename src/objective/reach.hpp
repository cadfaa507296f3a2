// The kinds of run in which a recipe acts: the part of it that acts if every ratio is 1, the
// rewards that its constants assume, the answers on which it acts, and whether it reads advantages.
#pragma once

#include "objective/objective.hpp"

#include <string>
#include <vector>

namespace rollcall::objective {

/// The part of a recipe that acts in a step with one update of the policy that sampled it, so that
/// every ratio is 1.
struct OnPolicy {
  std::vector<std::string> idle{};  ///< pieces that change no derivative, as "weight tis"
  std::string acts_as{};  ///< the first row of the table, above the recipe's own, whose pieces and
                          ///< settings are the same without those; empty: there is none
};

/// The number that a piece takes for the largest reward of the verifier.
struct LargestReward {
  std::string piece{};    ///< family and name, as "advantage virtual_best"
  std::string setting{};  ///< knob that says it; empty: it compares with shares of right answers
  double reward = 1.0;
};

/// A piece with a part that acts only on answers of at least this number of tokens.
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
