// A step of random groups in canonical order: uneven sizes, several turns, some of them with facts,
// some rollouts without a policy token.
#pragma once

#include "base/errors/error.hpp"
#include "io/sample_run.hpp"
#include "run/step/step_batch.hpp"

#include <vector>

namespace rollcall::run {

inline Rollout random_rollout(io::test::Dice& dice, std::uint32_t sample) {
  Rollout rollout = io::test::rollout(dice, sample);
  // No rollout of a batch is lost, as its verdict would have to say so too.
  const FinishReason finish = rollout.finish;
  io::test::converse(rollout);
  rollout.finish = finish;
  // begin of sequence
  rollout.turns.front().tokens.insert(rollout.turns.front().tokens.begin(), 1);
  return rollout;
}

inline StepBatch random_batch(std::uint64_t seed, std::size_t groups, std::uint64_t step = 3) {
  io::test::Dice dice(seed);
  StepBatch batch;
  batch.component_names = {"correct", "format"};
  for (std::size_t g = 0; g < groups; ++g) {
    Group group{.id = {step, {g / 2 * 3}, std::uint32_t(g % 2)},
                .level = std::int32_t(dice.below(5)),
                .rollouts = {}};
    auto& scores = batch.scores.emplace_back();
    std::uint32_t sample = 0;
    for (auto n = 1 + dice.below(5); n > 0; --n) {
      sample += std::uint32_t(1 + dice.below(2));
      group.rollouts.push_back(random_rollout(dice, sample));
      // one prompt a group
      group.rollouts.back().turns.front() = group.rollouts.front().turns.front();
      scores.push_back({.components = {double(dice.below(2)), dice.value()},
                        .reward = dice.value(),
                        .correct = dice.below(2) == 1,
                        .answer = io::test::words(dice)});
      scores.back().undecided = dice.below(5) == 0;
    }
    batch.groups.push_back(std::move(group));
  }
  return batch;
}

/// The rollouts of the chosen groups, one after the other, by plain loops.
struct Flat {
  std::vector<const Rollout*> rollouts;
  std::vector<std::int64_t> group, level, offsets{0};
  std::vector<double> reward, logprob;
  std::vector<std::int64_t> truncated;
};

inline Flat flatten(const StepBatch& batch, const std::vector<std::size_t>& groups) {
  Flat flat;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const auto& group = batch.groups[groups[k]];
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      flat.rollouts.push_back(&group.rollouts[i]);
      flat.group.push_back(std::int64_t(k)), flat.level.push_back(group.level),
          flat.reward.push_back(batch.scores[groups[k]][i].reward);
      flat.truncated.push_back(group.rollouts[i].finish == FinishReason::length ? 1 : 0);
      for (const auto& turn : group.rollouts[i].turns)
        for (const float logprob : turn.columns.logprob) flat.logprob.push_back(double(logprob));
      flat.offsets.push_back(std::int64_t(flat.logprob.size()));
    }
  }
  return flat;
}

}  // namespace rollcall::run
