// Steps of plain answers for the tests of what each paper promises: only what the test names
// differs between answers.
#pragma once

#include "evaluate_step.hpp"
#include "objective/pieces.hpp"

#include <string>
#include <vector>

namespace rollcall::objective::test {

struct Answer {
  std::int64_t group;
  double reward;
  std::size_t length = 1;
};

/// Answers whose tokens all have probability 1/2, on-policy.
inline PlainStep answers(const std::vector<Answer>& list, double horizon = 100.0) {
  PlainStep step;
  step.horizon = horizon;
  for (const auto& [group, reward, length] : list) {
    PlainRollout r;
    r.group = group, r.reward = reward, r.correct = reward > 0 ? 1.0 : 0.0,
    r.key = std::int64_t(step.rollouts.size()) + 1;
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
      column->assign(length, std::log(0.5));
    r.entropy.assign(length, 1.0);
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

/// A piece's column, one number a rollout (that of its first token).
inline Column per_rollout(const PlainStep& step, const at::Tensor& per_token) {
  const Column all = values(per_token);
  Column first;
  std::size_t token = 0;
  for (const auto& r : step.rollouts) first.push_back(all.at(token)), token += r.length();
  return first;
}

/// Advantages of the answers under a piece.
template <class Piece>
Column advantages_of(const Piece& piece, const PlainStep& step) {
  return per_rollout(step, Advantage(piece(Step(step.columns()))).advantage);
}

}  // namespace rollcall::objective::test
