// A turn is an action: neighbouring turns of the policy are one, and the last of them has its facts.
#include "run/step/turn_figures.hpp"

#include "run/messages/actions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rollcall::run {

void TurnFigures::add(const Rollout& rollout) {
  if (rollout.facts.empty()) return;
  const auto is_policy = [&](std::size_t turn) {
    return turn < rollout.turns.size() && rollout.turns[turn].role == Role::policy;
  };
  const auto has = [](const TurnFacts& facts, std::int64_t flag) {
    return (facts.flags & flag) != 0 ? 1.0 : 0.0;
  };
  double turns = 0.0;
  for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
    // Text that was given before the first turn is not an answer to it.
    if (rollout.turns[t].role == Role::environment && turns > 0.0)
      told_ += double(rollout.turns[t].tokens.size());
    if (!is_policy(t) || is_policy(t + 1)) continue;
    const TurnFacts& facts = rollout.facts[t];
    turns += 1.0, paid_ += facts.reward;
    invalid_ += has(facts, turn_flag::invalid), failed_ += has(facts, turn_flag::error);
    void_ += has(facts, turn_flag::void_turn);
  }
  rollouts_ += 1.0, turns_ += turns, most_ = std::max(most_, turns);
  limited_ += rollout.finish == FinishReason::turns ? 1.0 : 0.0;
  no_room_ += lacked_room(rollout) ? 1.0 : 0.0;
}

void TurnFigures::write(std::map<std::string, double>& metrics) const {
  if (rollouts_ == 0.0) return;
  const double turns = std::max(turns_, 1.0);
  metrics["turns/mean"] = turns_ / rollouts_, metrics["turns/max"] = most_;
  metrics["turns/limit_ratio"] = limited_ / rollouts_;
  metrics["turns/no_room_ratio"] = no_room_ / rollouts_;
  metrics["turns/told_tokens_mean"] = told_ / rollouts_;
  metrics["turns/invalid_share"] = invalid_ / turns, metrics["turns/error_share"] = failed_ / turns;
  metrics["turns/void_share"] = void_ / turns, metrics["turns/reward_mean"] = paid_ / turns;
  metrics["environment/reward_mean"] = paid_ / rollouts_;
}

}  // namespace rollcall::run
