// Finds actions by the roles of turns.
#include "run/messages/actions.hpp"

#include <algorithm>
#include <cstdint>

namespace rollcall::run {

std::vector<ActionTurns> actions_of(const Rollout& rollout) {
  // The words of an exit do not come from an environment.
  const bool is_exit = rollout.fork_token >= 0 && rollout.facts.empty();
  if (is_exit) return {{1, rollout.turns.size()}};
  std::vector<ActionTurns> actions;
  ActionTurns open{1, 1};
  bool speaks = false;  // the policy, in the action that is open
  for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
    const bool is_policy = rollout.turns[t].role == Role::policy;
    if (speaks && !is_policy) {
      actions.push_back(open);
      speaks = false;
    }
    // The tokens between two actions belong to neither, but the tokens given before the first
    // action belong to it.
    if (is_policy && !speaks && !actions.empty()) open.first = t;
    if (is_policy || actions.empty()) open.last = t + 1;
    speaks = speaks || is_policy;
  }
  if (speaks || actions.empty()) actions.push_back(open);
  return actions;
}

std::string rollout_text(const text::PromptFormat& format, const Rollout& rollout) {
  const auto actions = actions_of(rollout);
  std::string all;
  for (const ActionTurns& action : actions) {
    std::vector<std::int32_t> tokens;
    for (std::size_t t = action.first; t < action.last; ++t)
      tokens.insert(tokens.end(), rollout.turns[t].tokens.begin(), rollout.turns[t].tokens.end());
    std::string said = format.answer_text(tokens);
    if (actions.size() > 1) std::erase(said, kNextAction);
    if (&action != &actions.front()) all += kNextAction;
    all += said;
  }
  return all;
}

std::string_view last_action(const Rollout& rollout) {
  const std::string_view text = rollout.text;
  if (actions_of(rollout).size() == 1) return text;
  const std::size_t mark = text.rfind(kNextAction);
  return mark == text.npos ? text : text.substr(mark + 1);
}

bool lacked_room(const Rollout& rollout) {
  return rollout.finish == FinishReason::length && !rollout.turns.empty() &&
         rollout.turns.back().role == Role::environment;
}

}  // namespace rollcall::run
