// Leaves and columns made of a step: whole groups, every rollout once and in order, columns that agree with the rollouts.
#include "stages/leaf_packing.hpp"
#include "stages/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <set>

namespace rollcall::stages {
namespace {

struct Flat {  ///< the rollouts of the chosen groups, one after the other, by plain loops
  std::vector<const Rollout*> rollouts;
  std::vector<std::int64_t> group, level, offsets{0};
  std::vector<double> reward, logprob;
  std::vector<std::int64_t> truncated;
};

Flat flatten(const StepBatch& batch, const std::vector<std::size_t>& groups) {
  Flat flat;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const auto& group = batch.groups[groups[k]];
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      flat.rollouts.push_back(&group.rollouts[i]);
      flat.group.push_back(std::int64_t(k)), flat.level.push_back(group.level), flat.reward.push_back(batch.scores[groups[k]][i].reward);
      flat.truncated.push_back(group.rollouts[i].finish == FinishReason::length ? 1 : 0);
      for (const auto& turn : group.rollouts[i].turns)
        for (const float logprob : turn.logprob) flat.logprob.push_back(double(logprob));
      flat.offsets.push_back(std::int64_t(flat.logprob.size()));
    }
  }
  return flat;
}

void check_columns(const method::StepColumns& c, const Flat& flat) {
  RC_ASSERT(c.reward == flat.reward);
  RC_ASSERT(c.group == flat.group);
  RC_ASSERT(c.prompt_level == flat.level);
  RC_ASSERT(c.offsets == flat.offsets);
  RC_ASSERT(c.rollout_logprob == flat.logprob);
  RC_ASSERT(c.old_logprob == flat.logprob);
  RC_ASSERT(c.truncated == flat.truncated);
  RC_ASSERT(c.max_new_tokens == 77.0);
}

/// Sequence s of the leaf and what it continues are the rollout: its tokens, and as targets the places of its policy tokens. Returns the next target.
std::size_t check_sequence(const model::Leaf& leaf, std::size_t s, const Rollout& rollout, std::size_t target) {
  std::vector<std::int32_t> prompt;
  for (std::int64_t parent = leaf.parents.at(s); parent >= 0; parent = leaf.parents[std::size_t(parent)])
    prompt.insert(prompt.begin(), leaf.tokens.begin() + leaf.offsets[std::size_t(parent)], leaf.tokens.begin() + leaf.offsets[std::size_t(parent) + 1]);
  RC_ASSERT(prompt == rollout.turns.front().tokens);
  std::int64_t at = leaf.offsets[s];
  for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
    for (const std::int32_t token : rollout.turns[t].tokens) {
      RC_ASSERT(leaf.tokens.at(std::size_t(at)) == token);
      if (rollout.turns[t].role == Role::policy) RC_ASSERT(leaf.targets.at(target++) == at);
      ++at;
    }
  }
  RC_ASSERT(leaf.offsets.at(s + 1) == at);
  return target;
}

/// The sequences that continue a prompt, and that none continues.
std::vector<std::size_t> answers_of(const model::Leaf& leaf) {
  std::vector<std::size_t> answers;
  for (std::size_t s = 0; s < leaf.parents.size(); ++s)
    if (leaf.parents[s] >= 0 && std::find(leaf.parents.begin(), leaf.parents.end(), std::int64_t(s)) == leaf.parents.end()) answers.push_back(s);
  return answers;
}

void check_leaves(const TrainBatch& made, const Flat& flat, std::int64_t leaf_tokens) {
  std::int64_t next = 0, last_group = -1;
  for (const auto& [leaf, rollouts, logprob, entropy] : made.leaves) {
    RC_ASSERT(!rollouts.empty());
    const auto answers = answers_of(leaf);
    RC_ASSERT(answers.size() == rollouts.size());
    RC_ASSERT(std::equal(logprob.begin(), logprob.end(), flat.logprob.begin() + flat.offsets[std::size_t(next)]));
    std::size_t target = 0;
    for (std::size_t i = 0; i < rollouts.size(); ++i) {
      RC_ASSERT(rollouts[i] == next);
      target = check_sequence(leaf, answers[i], *flat.rollouts[std::size_t(next)], target);
      ++next;
    }
    RC_ASSERT(logprob.size() == leaf.targets.size() && entropy.size() == leaf.targets.size());
    // Distinct prompts of a leaf are as many as its groups.
    RC_ASSERT(leaf.parents.size() - answers.size() == std::size_t(flat.group[std::size_t(rollouts.back())] - flat.group[std::size_t(rollouts.front())] + 1));
    RC_ASSERT(target == leaf.targets.size());
    RC_ASSERT(std::size_t(leaf.offsets.back()) == leaf.tokens.size());
    const std::int64_t first = flat.group[std::size_t(rollouts.front())], last = flat.group[std::size_t(rollouts.back())];
    RC_ASSERT(first == last_group + 1);  // a group never continues in the next leaf
    RC_ASSERT(std::int64_t(leaf.tokens.size()) <= leaf_tokens || first == last);
    last_group = last;
  }
  RC_ASSERT(next == std::int64_t(flat.rollouts.size()));
}

TEST(TrainBatch, PacksWholeGroupsInOrderWithTheirColumns) {
  EXPECT_TRUE(rc::check("leaves and columns are the rollouts", [] {
    const StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30), std::size_t(*rc::gen::inRange(1, 20)));
    const auto count = *rc::gen::inRange<std::int64_t>(1, std::int64_t(batch.groups.size()) + 1);
    const auto groups = mini_batch(batch, *rc::gen::inRange<std::int64_t>(0, count), count);
    const auto leaf_tokens = *rc::gen::inRange<std::int64_t>(1, 200);
    const TrainBatch made = make_train_batch(batch, groups, leaf_tokens, 77);
    const Flat flat = flatten(batch, groups);
    check_columns(made.columns, flat);
    check_leaves(made, flat, leaf_tokens);
  }));
}

/// A derivative that is zero throughout for about a third of the rollouts, in one column only for another.
model::ColumnGradient patchy_derivative(const Flat& flat, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 9);
  model::ColumnGradient derivative{std::vector<float>(flat.logprob.size()), std::vector<float>(flat.logprob.size())};
  for (std::size_t i = 0; i < flat.rollouts.size(); ++i) {
    const auto kind = stream.below(i, 3);
    for (std::int64_t t = flat.offsets[i]; t < flat.offsets[i + 1]; ++t) {
      if (kind == 0) derivative.logprob[std::size_t(t)] = float(t + 1);
      if (kind == 1 && t + 1 == flat.offsets[i + 1]) derivative.entropy[std::size_t(t)] = -1.0F;
    }
  }
  return derivative;
}

/// Tokens that all prompts begin with, as many as are worth a sequence of their own.
std::size_t head_of(const std::vector<const Rollout*>& rollouts) {
  if (rollouts.empty()) return 0;
  std::set<std::vector<std::int32_t>> prompts;
  std::size_t shortest = std::numeric_limits<std::size_t>::max(), common = 0;
  for (const Rollout* rollout : rollouts) prompts.insert(rollout->turns.front().tokens), shortest = std::min(shortest, rollout->turns.front().tokens.size());
  const auto all_have = [&](std::size_t count) {
    return std::all_of(prompts.begin(), prompts.end(),
                       [&](const auto& p) { return std::equal(p.begin(), p.begin() + std::ptrdiff_t(count), prompts.begin()->begin()); });
  };
  while (common + 1 < shortest && all_have(common + 1)) ++common;
  return prompts.size() > 1 && common >= 16 ? common : 0;
}

TEST(BackwardLeaves, HoldWhatHasADerivativeAndNothingElse) {
  EXPECT_TRUE(rc::check("every rollout with a derivative once, in order, with its columns", [] {
    StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30), std::size_t(*rc::gen::inRange(1, 20)));
    const std::vector<std::int32_t> beginning(std::size_t(*rc::gen::element(0, 15, 16, 40)), 7);
    for (auto& group : batch.groups)
      for (auto& rollout : group.rollouts) rollout.turns.front().tokens.insert(rollout.turns.front().tokens.begin(), beginning.begin(), beginning.end());
    const auto groups = mini_batch(batch, 0, 1);
    const auto leaf_tokens = *rc::gen::inRange<std::int64_t>(1, 200);
    const Flat flat = flatten(batch, groups);
    const auto derivative = patchy_derivative(flat, *rc::gen::inRange<std::uint64_t>(0, 1U << 30));
    const std::vector<float> logprob(flat.logprob.begin(), flat.logprob.end());
    const auto leaves = backward_leaves(batch, groups, derivative, logprob, leaf_tokens);
    std::size_t leaf = 0, answer = 0, target = 0;
    std::vector<const Rollout*> learnt;
    for (std::size_t i = 0; i < flat.rollouts.size(); ++i) {
      const auto first = std::size_t(flat.offsets[i]), count = std::size_t(flat.offsets[i + 1]) - first;
      const auto nothing = [&](const std::vector<float>& column) {
        return std::all_of(column.begin() + std::ptrdiff_t(first), column.begin() + std::ptrdiff_t(first + count), [](float value) { return value == 0.0F; });
      };
      if (nothing(derivative.logprob) && nothing(derivative.entropy)) continue;
      learnt.push_back(flat.rollouts[i]);
      if (answer == answers_of(leaves.at(leaf).leaf).size()) ++leaf, answer = target = 0;
      const auto& now = leaves.at(leaf);
      for (std::size_t t = 0; t < count; ++t) {
        RC_ASSERT(now.derivative.logprob.at(target + t) == derivative.logprob[first + t]);
        RC_ASSERT(now.derivative.entropy.at(target + t) == derivative.entropy[first + t]);
        RC_ASSERT(now.logprob.at(target + t) == logprob[first + t]);
      }
      target = check_sequence(now.leaf, answers_of(now.leaf)[answer++], *flat.rollouts[i], target);
      RC_ASSERT(std::int64_t(now.leaf.tokens.size()) <= leaf_tokens || answers_of(now.leaf).size() == 1);
    }
    RC_ASSERT(leaves.empty() || (leaf + 1 == leaves.size() && answer == answers_of(leaves.back().leaf).size()));
    const std::size_t head = head_of(learnt);
    std::size_t needed = learnt.empty() ? 0 : head;
    for (std::size_t i = 0; i < learnt.size(); ++i) {
      const auto& turns = learnt[i]->turns;
      const bool again = i > 0 && turns.front().tokens == learnt[i - 1]->turns.front().tokens;
      if (!again) needed += turns.front().tokens.size() - head;
      for (auto turn = turns.begin() + 1; turn != turns.end(); ++turn) needed += turn->tokens.size();
    }
    std::int64_t useful = 0;  // is what one leaf would hold that is never cut
    for (const auto& each : leaves) useful += std::int64_t(each.leaf.tokens.size()) - each.repeated;
    RC_ASSERT(useful == std::int64_t(needed));
  }));
}

TEST(TrainBatch, FillsALeafToTheLastToken) {
  StepBatch batch;
  for (std::uint64_t g = 0; g < 5; ++g) {  // groups of 10 tokens
    const Turn policy{.role = Role::policy, .tokens = {2, 3, 4, 5}, .logprob = {-1, -1, -1, -1}, .entropy = {1, 1, 1, 1}, .policy_version = {0, 0, 0, 0}};
    const Turn prompt{.role = Role::prompt, .tokens = {1, 2, 3, 4, 5, 6}, .logprob = {}, .entropy = {}, .policy_version = {}};
    batch.groups.push_back({.id = {1, {g}, 0}, .level = 0, .rollouts = {{.sample = 0, .finish = FinishReason::stop, .turns = {prompt, policy}, .text = ""}}});
    batch.scores.push_back({Score{}});
  }
  const std::vector<std::size_t> all{0, 1, 2, 3, 4};
  EXPECT_EQ(make_train_batch(batch, all, 9, 4).leaves.size(), 5U);
  EXPECT_EQ(make_train_batch(batch, all, 19, 4).leaves.size(), 5U);
  EXPECT_EQ(make_train_batch(batch, all, 20, 4).leaves.size(), 3U);
  EXPECT_EQ(make_train_batch(batch, all, 50, 4).leaves.size(), 1U);
}

}  // namespace
}  // namespace rollcall::stages
