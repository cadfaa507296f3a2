// A first pass finds the lowest reward of the step, and a second one removes rollouts or sets
// rewards.
#include "run/step/undecided.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::run {
namespace {

/// The reward and components of a wrong answer: the lowest of the step.
struct Lowest {
  std::size_t decided = 0;
  double reward = 0.0;
  std::vector<double> components{};

  void add(const Score& score) {
    reward = decided == 0 ? score.reward : std::min(reward, score.reward);
    if (components.size() < score.components.size())
      components.resize(score.components.size(), std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < score.components.size(); ++k)
      components[k] = std::min(components[k], score.components[k]);
    ++decided;
  }
  void pay(Score& score) const {
    score.reward = reward, score.correct = false;
    for (std::size_t k = 0; k < score.components.size(); ++k)
      score.components[k] = k < components.size() ? components[k] : 0.0;
  }
};

/// Removes the rollouts that leave the step. A group that keeps no rollout becomes empty. `keep`:
/// GroupTraining::keep of the group, one value per rollout; it may be empty.
void let_go(Group& group, std::vector<Score>& scores, std::vector<std::uint8_t>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (leaves_the_step(scores[i], true)) continue;
    if (kept != i)
      group.rollouts[kept] = std::move(group.rollouts[i]), scores[kept] = std::move(scores[i]);
    if (!keep.empty()) keep.at(kept) = keep.at(i);
    ++kept;
  }
  group.rollouts.resize(kept), scores.resize(kept);
  if (!keep.empty()) keep.resize(kept);
}

std::size_t count_rollouts(const StepBatch& batch) {
  std::size_t count = 0;
  for (const Group& group : batch.groups) count += group.rollouts.size();
  return count;
}

}  // namespace

double greedy_reward(const Score& score) {
  if (is_own_doing(score)) return -std::numeric_limits<double>::infinity();
  return score.undecided ? std::numeric_limits<double>::quiet_NaN() : score.reward;
}

std::size_t settle_undecided(StepBatch& batch, bool drop) {
  Lowest lowest;
  for (const auto& scores : batch.scores)
    for (const auto& score : scores)
      if (!score.undecided) lowest.add(score);
  for (auto& scores : batch.scores)
    for (auto& score : scores)
      if (score.undecided && !leaves_the_step(score, drop)) lowest.pay(score);
  for (auto& [prompt, reward] : batch.greedy)
    if (std::isinf(reward) || (std::isnan(reward) && !drop)) reward = lowest.reward;
  if (!drop) return lowest.decided;
  const auto without_greedy = [&](const Group& group) {
    const auto greedy = batch.greedy.find(group.id.prompt);
    return greedy != batch.greedy.end() && std::isnan(greedy->second);
  };
  std::vector<std::uint8_t> none;
  std::size_t kept = 0;
  batch.undecided += count_rollouts(batch);
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    let_go(batch.groups[g], batch.scores[g],
           batch.training.empty() ? none : batch.training[g].keep);
    if (batch.groups[g].rollouts.empty() || without_greedy(batch.groups[g])) continue;
    if (kept != g) {
      batch.groups[kept] = std::move(batch.groups[g]),
      batch.scores[kept] = std::move(batch.scores[g]);
      if (!batch.training.empty()) batch.training[kept] = std::move(batch.training[g]);
    }
    ++kept;
  }
  batch.groups.resize(kept), batch.scores.resize(kept);
  if (!batch.training.empty()) batch.training.resize(kept);
  batch.undecided -= count_rollouts(batch);
  std::erase_if(batch.greedy, [](const auto& entry) { return std::isnan(entry.second); });
  return lowest.decided;
}

std::size_t close_step(StepBatch& step, const RunConfig& config, std::uint64_t number) {
  const std::size_t decided = settle_undecided(step, config.reward.undecided == "drop");
  if (config.task.shuffle_rewards) shuffle_rewards(step, std::uint64_t(config.run.seed), number);
  return decided;
}

double lowest_reward(std::span<const std::vector<GroupReport>* const> reports) {
  double lowest = kUnsettled;
  for (const auto* groups : reports)
    for (const auto& group : *groups)
      for (const double reward : group.rewards) lowest = std::fmin(lowest, reward);
  return std::isnan(lowest) ? 0.0 : lowest;
}

void settle_rewards(std::vector<GroupReport>& reports, double lowest) {
  for (auto& group : reports)
    for (double& reward : group.rewards)
      if (std::isnan(reward)) reward = lowest;
}

std::map<PromptId, double> greedy_rewards(const std::vector<GroupReport>& greedy) {
  std::map<PromptId, double> all;
  for (const auto& report : greedy) {
    const bool gone = report.rewards.empty();
    const double reward = gone ? std::numeric_limits<double>::quiet_NaN() : report.rewards.front();
    // NaN is kUnsettled here: the answer stays in the step, and counts as wrong (undecided.hpp).
    all[report.id.prompt] =
        !gone && std::isnan(reward) ? -std::numeric_limits<double>::infinity() : reward;
  }
  return all;
}

void let_go(GroupReport& report) {
  report.dropped += std::uint32_t(report.rewards.size());
  report.rewards.clear(), report.correct.clear(), report.lengths.clear(), report.answers.clear(),
      report.predicted.clear();
}

}  // namespace rollcall::run
