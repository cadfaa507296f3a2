// Leaves and columns made of a step: whole groups, every rollout once and in order, columns that agree with the rollouts.
#include "stages/random_batch.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::stages {
namespace {

template <class T>
std::vector<T> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<T>(), flat.data_ptr<T>() + flat.numel()};
}

struct Flat {  ///< the rollouts of the chosen groups, one after the other, by plain loops
  std::vector<const Rollout*> rollouts;
  std::vector<std::int64_t> group, level, offsets{0};
  std::vector<double> reward, logprob;
  std::vector<bool> truncated;
};

Flat flatten(const StepBatch& batch, const std::vector<std::size_t>& groups) {
  Flat flat;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const auto& group = batch.groups[groups[k]];
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      flat.rollouts.push_back(&group.rollouts[i]);
      flat.group.push_back(std::int64_t(k)), flat.level.push_back(group.level), flat.reward.push_back(batch.scores[groups[k]][i].reward);
      flat.truncated.push_back(group.rollouts[i].finish == FinishReason::length);
      for (const auto& turn : group.rollouts[i].turns)
        for (const float logprob : turn.logprob) flat.logprob.push_back(double(logprob));
      flat.offsets.push_back(std::int64_t(flat.logprob.size()));
    }
  }
  return flat;
}

void check_columns(const objective::StepColumns& c, const Flat& flat) {
  RC_ASSERT(values<double>(c.reward) == flat.reward);
  RC_ASSERT(values<std::int64_t>(c.group) == flat.group);
  RC_ASSERT(values<std::int64_t>(c.prompt_level) == flat.level);
  RC_ASSERT(values<std::int64_t>(c.offsets) == flat.offsets);
  RC_ASSERT(values<double>(c.rollout_logprob) == flat.logprob);
  RC_ASSERT(values<double>(c.old_logprob) == flat.logprob);
  for (std::size_t i = 0; i < flat.truncated.size(); ++i) RC_ASSERT(c.truncated[std::int64_t(i)].item<bool>() == flat.truncated[i]);
  RC_ASSERT(c.truncated.numel() == std::int64_t(flat.truncated.size()));
  RC_ASSERT(c.max_new_tokens == 77.0);
}

/// Sequence s of the leaf is the rollout: its tokens, and as targets the places of its policy tokens. Returns the next target.
std::size_t check_sequence(const model::Leaf& leaf, std::size_t s, const Rollout& rollout, std::size_t target) {
  std::int64_t at = leaf.offsets[s];
  for (const auto& turn : rollout.turns) {
    for (const std::int32_t token : turn.tokens) {
      RC_ASSERT(leaf.tokens.at(std::size_t(at)) == token);
      if (turn.role == Role::policy) RC_ASSERT(leaf.targets.at(target++) == at);
      ++at;
    }
  }
  RC_ASSERT(leaf.offsets.at(s + 1) == at);
  return target;
}

void check_leaves(const TrainBatch& made, const Flat& flat, std::int64_t leaf_tokens) {
  std::int64_t next = 0, last_group = -1;
  for (const auto& [leaf, rollouts] : made.leaves) {
    RC_ASSERT(!rollouts.empty());
    RC_ASSERT(leaf.offsets.size() == rollouts.size() + 1);
    std::size_t target = 0;
    for (std::size_t s = 0; s < rollouts.size(); ++s) {
      RC_ASSERT(rollouts[s] == next);
      target = check_sequence(leaf, s, *flat.rollouts[std::size_t(next)], target);
      ++next;
    }
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
