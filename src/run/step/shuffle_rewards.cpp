// The control experiment of task.shuffle_rewards.
#include "base/numbers/random.hpp"
#include "run/step/columns/turn_columns.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace rollcall::run {

void shuffle_rewards(StepBatch& batch, std::uint64_t seed, std::uint64_t step) {
  std::vector<Score*> scores;
  for (auto& group : batch.scores)
    for (auto& score : group) scores.push_back(&score);
  auto paid = turn_rewards(batch.groups);
  const RandomStream stream(seed, RandomPurpose::shuffle, step);
  for (std::size_t i = scores.size(); i > 1; --i) {
    const std::size_t other = stream.below(i, i);
    std::swap(*scores[i - 1], *scores[other]);
    if (!paid.empty()) std::swap(paid.at(i - 1), paid.at(other));
  }
  put_turn_rewards(paid, batch.groups);
  std::vector<double*> greedy;
  for (auto& [prompt, reward] : batch.greedy) greedy.push_back(&reward);
  const RandomStream of_greedy(seed, RandomPurpose::shuffle, step, 1);
  for (std::size_t i = greedy.size(); i > 1; --i)
    std::swap(*greedy[i - 1], *greedy[of_greedy.below(i, i)]);
}

}  // namespace rollcall::run
