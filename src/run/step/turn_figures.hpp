// Metrics of the conversations of a step.
#pragma once

#include "core/rollout.hpp"

#include <map>
#include <string>

namespace rollcall::run {

/// Counts the rollouts that talked with an environment, and ignores all others.
class TurnFigures {
 public:
  void add(const Rollout& rollout);
  /// turns/mean and turns/max (of a rollout), turns/limit_ratio (rollouts that the limit of turns
  /// ended), turns/no_room_ratio (rollouts that lacked_room()), turns/told_tokens_mean (of a
  /// rollout), turns/invalid_share, turns/error_share and turns/void_share (of all turns),
  /// turns/reward_mean (of a turn), environment/reward_mean (of a rollout). Empty if no rollout was
  /// counted.
  void write(std::map<std::string, double>& metrics) const;

 private:
  double rollouts_ = 0.0, turns_ = 0.0, most_ = 0.0, limited_ = 0.0, told_ = 0.0, invalid_ = 0.0,
         no_room_ = 0.0, failed_ = 0.0, void_ = 0.0, paid_ = 0.0;
};

}  // namespace rollcall::run
