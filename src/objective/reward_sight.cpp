// The table: one row for every piece of reward.
#include "objective/reward_sight.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace rollcall::objective {
namespace {

struct Row {
  std::string_view reward;
  Sight sight;
};

constexpr Row kRows[] = {
    {"answer_share", Sight::rollouts},      {"calibrated", Sight::rollouts},
    {"components", Sight::rollouts},        {"confidence", Sight::rollouts},
    {"constrained", Sight::rollouts},       {"contrast", Sight::rollouts},
    {"cosine_length", Sight::rollouts},     {"decaying_exit", Sight::rollouts},
    {"degenerate", Sight::rollouts},        {"difficulty_scale", Sight::unheard},  // it scales a group's rewards, which are alike or differ all the same
    {"diversity", Sight::rollouts},         {"entropy_controller", Sight::unheard},
    {"entropy_history", Sight::unheard},    {"flawed", Sight::rollouts},
    {"gradient_novelty", Sight::update},    {"group_length", Sight::rollouts},
    {"history_length", Sight::update},      {"kl_controller", Sight::unheard},
    {"kl_in_reward", Sight::unheard},       {"kl_limit", Sight::update},
    {"length_target", Sight::rollouts},     {"majority_vote", Sight::rollouts},
    {"mode_reward", Sight::rollouts},       {"moving_norm", Sight::unheard},
    {"overlong", Sight::rollouts},          {"pass_rate_length", Sight::rollouts},
    {"repetition", Sight::rollouts},        {"rule_or_votes", Sight::rollouts},
    {"triangular_length", Sight::rollouts}, {"unlikely", Sight::rollouts},
    {"zero_truncated", Sight::rollouts},
};

}  // namespace

Sight sight_of(std::string_view reward) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.reward == reward; });
  expect(row != std::end(kRows), ("the table lacks the reward " + std::string(reward)).c_str());
  return row->sight;
}

}  // namespace rollcall::objective
