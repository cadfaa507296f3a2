// Takes the facts of an action from its last turn of the policy, and the state after it from the
// turn of the environment that answers it.
#include "run/step/columns/turn_columns.hpp"

#include "base/errors/error.hpp"
#include "run/messages/actions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace rollcall::run {
namespace {

/// Flags that repeat the verdict. They are in no column, because they would bypass a permutation of
/// the verdicts and reach an objective.
constexpr std::int64_t kVerdict = turn_flag::decided | turn_flag::correct;

/// The turn of the policy that ends an action; nothing if the policy said nothing, or if the
/// rollout has no facts.
std::optional<std::size_t> last_of(const Rollout& rollout, const ActionTurns& action) {
  for (std::size_t t = std::min(action.last, rollout.facts.size()); t-- > action.first;)
    if (rollout.turns[t].role == Role::policy) return t;
  return std::nullopt;
}

/// The environment's reward for an action.
double paid(const Rollout& rollout, const ActionTurns& action) {
  double sum = 0.0;
  for (std::size_t t = action.first; t < std::min(action.last, rollout.facts.size()); ++t)
    sum += rollout.facts[t].reward;
  return sum;
}

/// The state after an action; 0: the environment was not asked, or there is none.
std::uint64_t state_after(const Rollout& rollout, const ActionTurns& action) {
  const bool answered =
      action.last < rollout.facts.size() && rollout.turns[action.last].role == Role::environment;
  return answered ? rollout.facts[action.last].state : 0;
}

}  // namespace

TurnColumns::TurnColumns(const std::vector<Group>& step) {
  const auto count = [](Numbers& numbers, std::uint64_t hash) {
    if (hash != 0) numbers.try_emplace(hash, double(numbers.size() + 1));
  };
  for (const Group& group : step)
    for (const Rollout& rollout : group.rollouts)
      for (const TurnFacts& facts : rollout.facts)
        count(states_, facts.state), count(actions_, facts.action);
}

double TurnColumns::number(const Numbers& numbers, std::uint64_t hash) {
  return hash == 0 ? 0.0 : numbers.at(hash);
}

void TurnColumns::append(const Rollout& rollout, const Score& score, std::int64_t first_token) {
  const auto actions = actions_of(rollout);
  double sum = 0.0;  // in the order in which a verdict sums the turns, so that both are rounded in
                     // the same way
  std::int64_t token = first_token;
  for (const ActionTurns& action : actions) {
    begin_.push_back(token);
    for (std::size_t t = action.first; t < std::min(action.last, rollout.turns.size()); ++t)
      if (rollout.turns[t].role == Role::policy)
        token += std::int64_t(rollout.turns[t].tokens.size());
    const auto last = last_of(rollout, action);
    const TurnFacts none, &facts = last ? rollout.facts[*last] : none;
    const double reward = score.undecided || actions.size() == 1 ? 0.0 : paid(rollout, action);
    sum += reward;
    reward_.push_back(reward);
    state_.push_back(number(states_, facts.state));
    next_state_.push_back(number(states_, state_after(rollout, action)));
    action_.push_back(number(actions_, facts.action));
    flags_.push_back(double(facts.flags & ~kVerdict)), kind_.push_back(double(facts.kind)),
        seat_.push_back(double(facts.seat));
  }
  reward_.back() += score.reward - sum;
  offsets_.push_back(std::int64_t(reward_.size()));
}

void TurnColumns::add_to(method::StepColumns& columns, std::int64_t tokens) && {
  namespace column = method::column;
  if (reward_.size() + 1 > offsets_.size()) {
    begin_.push_back(tokens);
    columns.turn_offsets = std::move(offsets_), columns.turn_begin = std::move(begin_);
  }
  columns.named[column::turn_reward] = std::move(reward_);
  columns.named[column::turn_state] = std::move(state_);
  columns.named[column::turn_next_state] = std::move(next_state_);
  columns.named[column::turn_action] = std::move(action_);
  columns.named[column::turn_flags] = std::move(flags_);
  columns.named[column::turn_kind] = std::move(kind_);
  columns.named[column::turn_seat] = std::move(seat_);
}

std::vector<std::vector<double>> turn_rewards(const std::vector<Group>& groups) {
  std::vector<std::vector<double>> rewards;
  bool any = false;
  for (const Group& group : groups)
    for (const Rollout& rollout : group.rollouts) {
      auto& own = rewards.emplace_back();
      if (rollout.facts.empty()) continue;
      any = true;
      for (const ActionTurns& action : actions_of(rollout)) own.push_back(paid(rollout, action));
    }
  if (!any) rewards.clear();
  return rewards;
}

void put_turn_rewards(const std::vector<std::vector<double>>& rewards, std::vector<Group>& groups) {
  if (rewards.empty()) return;
  std::size_t next = 0;
  for (Group& group : groups)
    for (Rollout& rollout : group.rollouts) {
      const auto& given = rewards.at(next++);
      if (rollout.facts.empty()) continue;
      const auto actions = actions_of(rollout);
      for (TurnFacts& facts : rollout.facts) facts.reward = 0.0;
      for (std::size_t k = 0; k < given.size(); ++k)
        if (const auto last = last_of(rollout, actions[std::min(k, actions.size() - 1)]))
          rollout.facts[*last].reward += given[k];
    }
  expect(next == rewards.size(), "every rollout gets the rewards of one");
}

}  // namespace rollcall::run
