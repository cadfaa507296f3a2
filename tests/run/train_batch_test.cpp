// Micro-batches and columns made of a step: whole groups, every rollout once and in order, columns
// that agree with the rollouts.
#include "run/random_batch.hpp"
#include "run/step/micro_batch_packing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace rollcall::run {
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

/// Sequence s of the micro-batch and what it continues are the rollout: its tokens, and as targets
/// the places of its policy tokens. Returns the next target.
std::size_t check_sequence(const model::MicroBatch& micro_batch, std::size_t s,
                           const Rollout& rollout, std::size_t target) {
  std::vector<std::int32_t> prompt;
  for (std::int64_t parent = micro_batch.parents.at(s); parent >= 0;
       parent = micro_batch.parents[std::size_t(parent)])
    prompt.insert(prompt.begin(),
                  micro_batch.tokens.begin() + micro_batch.offsets[std::size_t(parent)],
                  micro_batch.tokens.begin() + micro_batch.offsets[std::size_t(parent) + 1]);
  RC_ASSERT(prompt == rollout.turns.front().tokens);
  std::int64_t at = micro_batch.offsets[s];
  for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
    const Turn& turn = rollout.turns[t];
    for (std::size_t i = 0; i < turn.tokens.size(); ++i, ++at) {
      RC_ASSERT(micro_batch.tokens.at(std::size_t(at)) == turn.tokens[i]);
      if (turn.role != Role::policy) continue;
      RC_ASSERT(std::ranges::equal(micro_batch.kept.of(target), turn.kept.of(i)));
      RC_ASSERT(micro_batch.targets.at(target++) == at);
    }
  }
  RC_ASSERT(micro_batch.offsets.at(s + 1) == at);
  return target;
}

/// The sequences that continue a prompt, and that none continues.
std::vector<std::size_t> answers_of(const model::MicroBatch& micro_batch) {
  std::vector<std::size_t> answers;
  for (std::size_t s = 0; s < micro_batch.parents.size(); ++s)
    if (micro_batch.parents[s] >= 0 &&
        std::find(micro_batch.parents.begin(), micro_batch.parents.end(), std::int64_t(s)) ==
            micro_batch.parents.end())
      answers.push_back(s);
  return answers;
}

void check_micro_batches(const TrainBatch& made, const Flat& flat,
                         std::int64_t micro_batch_tokens) {
  std::int64_t next = 0, last_group = -1;
  for (const auto& [micro_batch, rollouts, stored] : made.micro_batches) {
    RC_ASSERT(!rollouts.empty());
    RC_ASSERT(stored.miss_logprob.empty());  // nothing was drawn beside it
    const auto answers = answers_of(micro_batch);
    RC_ASSERT(answers.size() == rollouts.size());
    RC_ASSERT(std::equal(stored.logprob.begin(), stored.logprob.end(),
                         flat.logprob.begin() + flat.offsets[std::size_t(next)]));
    std::size_t target = 0;
    for (std::size_t i = 0; i < rollouts.size(); ++i) {
      RC_ASSERT(rollouts[i] == next);
      target = check_sequence(micro_batch, answers[i], *flat.rollouts[std::size_t(next)], target);
      ++next;
    }
    RC_ASSERT(stored.logprob.size() == micro_batch.targets.size() &&
              stored.entropy.size() == micro_batch.targets.size());
    // Distinct prompts of a micro-batch are as many as its groups.
    RC_ASSERT(micro_batch.parents.size() - answers.size() ==
              std::size_t(flat.group[std::size_t(rollouts.back())] -
                          flat.group[std::size_t(rollouts.front())] + 1));
    RC_ASSERT(target == micro_batch.targets.size());
    RC_ASSERT(std::size_t(micro_batch.offsets.back()) == micro_batch.tokens.size());
    const std::int64_t first = flat.group[std::size_t(rollouts.front())],
                       last = flat.group[std::size_t(rollouts.back())];
    RC_ASSERT(first == last_group + 1);  // a group never continues in the next micro-batch
    RC_ASSERT(std::int64_t(micro_batch.tokens.size()) <= micro_batch_tokens || first == last);
    last_group = last;
  }
  RC_ASSERT(next == std::int64_t(flat.rollouts.size()));
}

TEST(TrainBatch, PacksWholeGroupsInOrderWithTheirColumns) {
  EXPECT_TRUE(rc::check("leaves and columns are the rollouts", [] {
    const StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                         std::size_t(*rc::gen::inRange(1, 20)));
    const auto count = *rc::gen::inRange<std::int64_t>(1, std::int64_t(batch.groups.size()) + 1);
    const auto groups = mini_batch(batch, *rc::gen::inRange<std::int64_t>(0, count), count);
    const auto micro_batch_tokens = *rc::gen::inRange<std::int64_t>(1, 200);
    const TrainBatch made = make_train_batch(batch, groups, micro_batch_tokens, 77);
    RC_ASSERT(micro_batch_groups(batch, groups, micro_batch_tokens).size() ==
              made.micro_batches.size());
    const Flat flat = flatten(batch, groups);
    check_columns(made.columns, flat);
    check_micro_batches(made, flat, micro_batch_tokens);
  }));
}

TEST(TrainBatch, FillsAMicroBatchToTheLastToken) {
  StepBatch batch;
  for (std::uint64_t g = 0; g < 5; ++g) {  // groups of 10 tokens
    const Turn policy{.role = Role::policy,
                      .tokens = {2, 3, 4, 5},
                      .columns = {.logprob = {-1, -1, -1, -1}, .entropy = {1, 1, 1, 1}},
                      .policy_version = {0, 0, 0, 0}};
    const Turn prompt{.role = Role::prompt, .tokens = {1, 2, 3, 4, 5, 6}};
    batch.groups.push_back(
        {.id = {1, {g}, 0},
         .level = 0,
         .rollouts = {
             {.sample = 0, .finish = FinishReason::stop, .turns = {prompt, policy}, .text = ""}}});
    batch.scores.push_back({Score{}});
  }
  const std::vector<std::size_t> all{0, 1, 2, 3, 4};
  EXPECT_EQ(make_train_batch(batch, all, 9, 4).micro_batches.size(), 5U);
  EXPECT_EQ(make_train_batch(batch, all, 19, 4).micro_batches.size(), 5U);
  EXPECT_EQ(make_train_batch(batch, all, 20, 4).micro_batches.size(), 3U);
  EXPECT_EQ(make_train_batch(batch, all, 50, 4).micro_batches.size(), 1U);
}

}  // namespace
}  // namespace rollcall::run
