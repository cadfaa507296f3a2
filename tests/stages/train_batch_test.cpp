// Leaves and columns made of a step: whole groups, every rollout once and in order, columns that agree with the rollouts.
#include "stages/leaf_packing.hpp"
#include "stages/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

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
    const Turn& turn = rollout.turns[t];
    for (std::size_t i = 0; i < turn.tokens.size(); ++i, ++at) {
      RC_ASSERT(leaf.tokens.at(std::size_t(at)) == turn.tokens[i]);
      if (turn.role != Role::policy) continue;
      RC_ASSERT(std::ranges::equal(leaf.kept.of(target), turn.kept.of(i)));
      RC_ASSERT(leaf.targets.at(target++) == at);
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
    RC_ASSERT(leaf_groups(batch, groups, leaf_tokens).size() == made.leaves.size());
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
