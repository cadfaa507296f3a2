// The table: one row for every piece of reward.
#include "objective/reward_sight.hpp"

#include "base/errors/error.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace rollcall::objective {
namespace {

struct Row {
  std::string_view reward;
  Sight sight;
  Effect effect;
};

constexpr Row kRows[] = {
    {"answer_share", Sight::rollouts, Effect::replaces},
    {"calibrated", Sight::rollouts, Effect::changes},
    {"components", Sight::rollouts, Effect::replaces},
    {"confidence", Sight::rollouts, Effect::replaces},
    {"constrained", Sight::rollouts, Effect::changes},
    {"contrast", Sight::rollouts, Effect::changes},
    {"cosine_length", Sight::rollouts, Effect::replaces},
    {"coverage", Sight::rollouts, Effect::replaces},
    {"decaying_exit", Sight::rollouts, Effect::replaces},
    {"degenerate", Sight::rollouts, Effect::changes},
    // it scales the rewards of a group, which does not change whether they differ
    {"difficulty_scale", Sight::unheard, Effect::changes},
    {"diversity", Sight::rollouts, Effect::changes},
    {"entropy_controller", Sight::unheard, Effect::leaves},
    {"entropy_history", Sight::unheard, Effect::leaves},
    {"few_calls", Sight::rollouts, Effect::replaces},
    {"flawed", Sight::rollouts, Effect::replaces},
    {"gold_gain", Sight::unheard, Effect::pays_turns},
    {"gradient_novelty", Sight::update, Effect::replaces},
    {"group_length", Sight::rollouts, Effect::changes},
    {"history_length", Sight::update, Effect::changes},
    {"kl_controller", Sight::unheard, Effect::leaves},
    {"kl_in_reward", Sight::unheard, Effect::changes},
    {"kl_limit", Sight::update, Effect::changes},
    {"length_target", Sight::rollouts, Effect::changes},
    {"majority_vote", Sight::rollouts, Effect::replaces},
    {"mode_reward", Sight::rollouts, Effect::replaces},
    {"moving_norm", Sight::unheard, Effect::changes},
    {"overlong", Sight::rollouts, Effect::changes},
    {"pass_rate_length", Sight::rollouts, Effect::changes},
    // it pays turns, and the rollout's reward stays
    {"progress", Sight::unheard, Effect::changes},
    {"repetition", Sight::rollouts, Effect::changes},
    {"retries", Sight::rollouts, Effect::replaces},
    {"routed_cost", Sight::update, Effect::replaces},
    {"rule_or_votes", Sight::rollouts, Effect::replaces},
    {"triangular_length", Sight::rollouts, Effect::changes},
    {"unlikely", Sight::rollouts, Effect::changes},
    {"zero_truncated", Sight::rollouts, Effect::changes},
};

const Row& row_of(std::string_view reward) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.reward == reward; });
  expect(row != std::end(kRows), ("the table lacks the reward " + std::string(reward)).c_str());
  return *row;
}

}  // namespace

Sight sight_of(std::string_view reward) { return row_of(reward).sight; }
Effect effect_of(std::string_view reward) { return row_of(reward).effect; }

bool replaces_turns(std::string_view reward, const ShapedReward& shaped) {
  const Effect effect = effect_of(reward);
  return effect == Effect::pays_turns ||
         (effect == Effect::replaces && shaped.reward.defined() && !shaped.keeps_turns);
}

}  // namespace rollcall::objective
