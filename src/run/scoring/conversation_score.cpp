// Sums the facts of the turns.
#include "run/scoring/conversation_score.hpp"

#include "run/messages/actions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

bool has(std::int64_t flags, std::int64_t flag) { return (flags & flag) != 0; }

/// The facts of the policy's last turn or, if it had no turn, of the prompt; nullptr: there are
/// none.
const TurnFacts* last_fact(const Rollout& rollout) {
  for (std::size_t t = rollout.facts.size(); t-- > 0;)
    if (rollout.turns.at(t).role == Role::policy || t == 0) return &rollout.facts[t];
  return nullptr;
}

bool is_lost(const Rollout& rollout) { return rollout.finish == FinishReason::lost; }

bool is_decided(const Rollout& rollout) {
  const TurnFacts* last = last_fact(rollout);
  return last != nullptr && has(last->flags, turn_flag::decided);
}

/// The environment's own verdict, without its rewards.
Score settled(const reward::Grader& grader, const Rollout& rollout) {
  const TurnFacts* last = last_fact(rollout);
  if (is_lost(rollout)) {
    Score lost = grader.undecided(last == nullptr ? std::string() : last->reason);
    lost.clock_ended = last != nullptr && has(last->flags, turn_flag::ended);
    return lost;
  }
  Score score = grader.score(
      reward::Reply{.correct = has(last->flags, turn_flag::correct), .reason = last->reason},
      last_action(rollout), true);
  score.components.resize(grader.components().size(), 0.0);
  return score;
}

}  // namespace

bool is_settled(const Rollout& rollout) { return is_lost(rollout) || is_decided(rollout); }

Score conversation_score(const reward::Grader& grader, const Rollout& rollout,
                         std::size_t environment, Score graded) {
  Score score = is_settled(rollout) ? settled(grader, rollout) : std::move(graded);
  std::vector<double> sums(environment, 0.0);
  if (!score.undecided) {
    for (const TurnFacts& turn : rollout.facts) {
      score.reward += turn.reward;
      for (std::size_t k = 0; k < std::min(environment, turn.components.size()); ++k)
        sums[k] += turn.components[k];
    }
  }
  score.components.insert(score.components.end(), sums.begin(), sums.end());
  return score;
}

}  // namespace rollcall::run
