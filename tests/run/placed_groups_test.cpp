// Where derived groups train: which rollouts move, which leave, and that nothing is lost or counted
// twice.
#include "run/step/placed_groups.hpp"

#include "core/derived_prompt.hpp"
#include "run/step/step_record.hpp"
#include "run/update/replay_buffer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace rollcall::run {
namespace {

using Keep = std::vector<std::uint8_t>;

constexpr std::uint64_t kStep = 3;
const GroupId kParent{kStep, {5}, 0}, kOther{kStep, {6}, 0};
const PromptId kFirst = derived_number(DerivedKind::refinement, kStep, 0),
               kSecond = derived_number(DerivedKind::refinement, kStep, 1);

Derivation made_of(const GroupId& parent, Placement placement,
                   DerivedKind kind = DerivedKind::refinement) {
  return {.kind = kind, .parent = parent, .parent_sample = 0, .tier = 0, .placement = placement};
}

/// A step whose rollouts have their group's prompt as their first token, and their reward as their
/// only component.
struct Played {
  StepBatch batch;
  Played() { batch.component_names = {"paid"}; }
  void add(const GroupId& id, std::uint32_t first, const std::vector<double>& rewards, Keep keep,
           const Derivation& from = {}) {
    Group group{.id = id, .level = 1, .rollouts = {}, .from = from};
    std::vector<Score> scores;
    for (std::size_t i = 0; i < rewards.size(); ++i) {
      const auto prompt = std::int32_t(id.prompt.value % 100);
      Rollout rollout{.sample = first + std::uint32_t(i), .turns = {}, .text = {}};
      rollout.turns.push_back({Role::prompt, {prompt}});
      rollout.turns.push_back({Role::policy, {7, 8}, {{-1.0F, -2.0F}, {0.5F, 0.5F}}, {1, 1}});
      group.rollouts.push_back(std::move(rollout));
      scores.push_back({.components = {rewards[i]}, .reward = rewards[i]});
    }
    batch.groups.push_back(std::move(group)), batch.scores.push_back(std::move(scores));
    batch.training.push_back(
        {.id = id, .weight = id == kParent ? 0.5 : 1.0, .keep = std::move(keep)});
  }
};

std::vector<double> rewards_of(const StepBatch& batch, std::size_t g) {
  std::vector<double> rewards;
  for (const Score& score : batch.scores[g]) rewards.push_back(score.reward);
  return rewards;
}

TEST(PlaceDerived, JoinsTheParentBehindItsOwnRollouts) {
  Played step;
  step.add(kParent, 0, {0, 0, 0}, {});
  step.add(kOther, 0, {1, 0}, {1, 0});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {0, 1}, {kLeaves, 1},
           made_of(kParent, Placement::joins_parent));
  step.add({kStep, kSecond, 0}, first_derived_sample(kSecond), {1, 1}, {1, kLeaves},
           made_of(kParent, Placement::joins_parent));
  EXPECT_EQ(place_derived(step.batch, TrainedOn::asked), 2U);
  ASSERT_EQ(step.batch.groups.size(), 2U) << "derived groups are no groups of the update";
  EXPECT_EQ(rewards_of(step.batch, 0), (std::vector<double>{0, 0, 0, 1, 1}));
  EXPECT_EQ(step.batch.training[0].keep, (Keep{1, 1, 1, 1, 1}));
  EXPECT_EQ(step.batch.training[0].weight, 0.5) << "the weight of the parent counts";
  const auto& rollouts = step.batch.groups[0].rollouts;
  EXPECT_FALSE(rollouts[2].placed);
  EXPECT_EQ(rollouts[3].placed, (GroupId{kStep, kFirst, 0}));
  EXPECT_EQ(rollouts[3].sample, first_derived_sample(kFirst) + 1);
  EXPECT_EQ(rollouts[4].placed, (GroupId{kStep, kSecond, 0}));
  EXPECT_EQ(rollouts[3].turns.front().tokens, std::vector<std::int32_t>{int(kFirst.value % 100)});
  EXPECT_FALSE(is_moved(rollouts[3])) << "it trains behind the prompt that was asked";
  EXPECT_EQ(rewards_of(step.batch, 1), (std::vector<double>{1, 0}));
  EXPECT_EQ(step.batch.training[1].keep, (Keep{1, 0}));
  const std::vector<std::pair<GroupId, std::uint32_t>> left{
      {{kStep, kFirst, 0}, first_derived_sample(kFirst)},
      {{kStep, kSecond, 0}, first_derived_sample(kSecond) + 1}};
  EXPECT_EQ(step.batch.left, left);
}

TEST(PlaceDerived, ReplacesWhatThePlanSaysLeaves) {
  Played step;
  // One failure of the parent leaves for the success of a tier, which is a further draw.
  step.add(kParent, 0, {0, 0, 0, 0}, {kLeaves, 1, 1, 1});
  step.add({kStep, kParent.prompt, 1}, first_derived_sample(1U), {0, 1}, {kLeaves, 1},
           made_of(kParent, Placement::replaces_one, DerivedKind::hint));
  EXPECT_EQ(place_derived(step.batch, TrainedOn::parent), 1U);
  ASSERT_EQ(step.batch.groups.size(), 1U);
  const auto& rollouts = step.batch.groups[0].rollouts;
  ASSERT_EQ(rollouts.size(), 4U);
  EXPECT_EQ(rollouts[0].sample, 1U);
  EXPECT_EQ(rollouts[3].sample, first_derived_sample(1U) + 1);
  EXPECT_EQ(rewards_of(step.batch, 0), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_FALSE(is_moved(rollouts[3])) << "a tier trains behind its own prompt";
}

TEST(PlaceDerived, ParentsThatLoseAllRolloutsKeepThoseOfOthers) {
  Played step;
  step.add(kParent, 0, {0, 0}, {kLeaves, kLeaves});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1, 0}, {},
           made_of(kParent, Placement::replaces_parent));
  EXPECT_EQ(place_derived(step.batch, TrainedOn::asked), 2U);
  ASSERT_EQ(step.batch.groups.size(), 1U);
  EXPECT_EQ(step.batch.groups[0].id, kParent);
  EXPECT_EQ(rewards_of(step.batch, 0), (std::vector<double>{1, 0}));
}

TEST(PlaceDerived, AnOrphanStays) {
  Played step;
  step.add(kOther, 0, {1, 0}, {});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1, 0}, {1, kLeaves},
           made_of(kParent, Placement::joins_parent));
  EXPECT_EQ(place_derived(step.batch, TrainedOn::parent), 0U);
  ASSERT_EQ(step.batch.groups.size(), 2U);
  EXPECT_EQ(step.batch.groups[1].id.prompt, kFirst);
  EXPECT_EQ(rewards_of(step.batch, 1), std::vector<double>{1});
  EXPECT_FALSE(is_moved(step.batch.groups[1].rollouts[0]));
}

TEST(PlaceDerived, GroupsThatOnlyHelpedLeave) {
  Played step;
  step.add(kParent, 0, {1, 0}, {});
  step.add({kStep, kFirst, 0}, 0, {1}, {}, made_of(kParent, Placement::trains_nowhere));
  step.add({kStep, kSecond, 0}, 0, {1, 0}, {}, made_of(kParent, Placement::own_group));
  EXPECT_EQ(place_derived(step.batch, TrainedOn::asked), 0U);
  ASSERT_EQ(step.batch.groups.size(), 2U);
  EXPECT_EQ(step.batch.groups[1].id.prompt, kSecond);
  EXPECT_EQ(step.batch.left.size(), 1U);
}

TEST(PlaceDerived, BatchesWithoutDerivedGroupsAreNotTouched) {
  Played step;
  step.add(kParent, 0, {1, 0}, {});
  step.add({kStep, derived_number(DerivedKind::verdict, kStep, 0), 0}, 0, {1, 0}, {1, 0});
  EXPECT_EQ(place_derived(step.batch, TrainedOn::parent), 0U);
  EXPECT_TRUE(step.batch.training[0].keep.empty());
  EXPECT_EQ(step.batch.training[1].keep, (Keep{1, 0}));
  EXPECT_TRUE(step.batch.left.empty());
}

TEST(PlaceDerived, BehindTheParentsPromptLogprobsAreMissing) {
  Played step;
  step.add(kParent, 0, {0, 0}, {kLeaves, kLeaves});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1}, {},
           made_of(kParent, Placement::replaces_parent));
  place_derived(step.batch, TrainedOn::parent);
  const Rollout& rollout = step.batch.groups.at(0).rollouts.at(0);
  EXPECT_EQ(rollout.turns[0].tokens, std::vector<std::int32_t>{5}) << "that of the parent";
  EXPECT_EQ(rollout.turns[1].tokens, (std::vector<std::int32_t>{7, 8}));
  EXPECT_EQ(rollout.turns[1].columns.logprob, (std::vector<float>{0, 0}));
  EXPECT_TRUE(is_moved(rollout));
}

TEST(PlaceDerived, MiniBatchesGetParentsWhole) {
  Played step;
  for (std::uint64_t prompt = 0; prompt < 4; ++prompt)
    step.add({kStep, {prompt}, 0}, 0, {0, 1}, {});
  for (std::uint64_t index = 0; index < 4; ++index) {
    const PromptId prompt = derived_number(DerivedKind::refinement, kStep, index);
    step.add({kStep, prompt, 0}, first_derived_sample(prompt), {1}, {},
             made_of({kStep, {index}, 0}, Placement::joins_parent));
  }
  place_derived(step.batch, TrainedOn::asked);
  std::vector<std::size_t> rollouts;
  for (std::int64_t b = 0; b < 2; ++b)
    for (const std::size_t g : mini_batch(step.batch, b, 2))
      rollouts.push_back(step.batch.groups[g].rollouts.size());
  EXPECT_EQ(rollouts, (std::vector<std::size_t>{3, 3, 3, 3}));
}

TEST(PlaceDerived, KeysOfRandomNumbersStayThoseOfTheSampledGroup) {
  const auto keys = [](bool placed) {
    Played step;
    step.add(kParent, 0, {0, 1}, {});
    step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1, 0}, {},
             made_of(kParent, Placement::joins_parent));
    if (placed) place_derived(step.batch, TrainedOn::asked);
    std::vector<std::size_t> all(step.batch.groups.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return make_train_batch(step.batch, all, 1000, 4).columns.key;
  };
  EXPECT_EQ(keys(true), keys(false));
}

TEST(PlaceDerived, MetricsAreThoseOfPromptsWithoutHelp) {
  Played step;
  step.add(kParent, 0, {0, 0}, {});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1, 1}, {},
           made_of(kParent, Placement::joins_parent));
  for (auto& score : step.batch.scores[1]) score.correct = true;
  const auto sampled = rollout_metrics(step.batch);
  EXPECT_EQ(sampled.at("train/pass_rate"), 0.0);
  EXPECT_EQ(sampled.at("train/frac_reward_zero_std"), 1.0);
  place_derived(step.batch, TrainedOn::asked);
  EXPECT_EQ(rollout_metrics(step.batch), sampled);
}

TEST(PlaceDerived, AllThatWasSampledCountsAsGenerated) {
  Played step;
  step.add(kParent, 0, {0, 0}, {kLeaves, 1});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1, 0}, {1, kLeaves},
           made_of(kParent, Placement::replaces_one));
  step.add({kStep, kSecond, 0}, 0, {1}, {}, made_of(kParent, Placement::trains_nowhere));
  place_derived(step.batch, TrainedOn::asked);
  const auto figures = composition(step.batch);
  EXPECT_EQ(figures.at("train/rollouts_generated"), 5.0);
  EXPECT_EQ(figures.at("train/rollouts_trained"), 2.0);
  Played mended;  // its given tokens are no guide's
  mended.add({kStep, kFirst, 0}, 0, {1}, {}, made_of(kParent, Placement::own_group));
  auto& turns = mended.batch.groups[0].rollouts[0].turns;
  turns.insert(turns.begin() + 1, Turn{Role::environment, {9, 9}});
  EXPECT_FALSE(composition(mended.batch).contains("guide/rollouts"));
  mended.batch.groups[0].from = {};
  EXPECT_EQ(composition(mended.batch).at("guide/tokens_mean"), 2.0);
}

TEST(StepRecordOfPlacedGroups, SaysWhatBecameOfEachRollout) {
  Played step;
  step.add(kParent, 0, {0, 0, 0}, {kLeaves, 1, 0});
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {0, 1}, {kLeaves, 1},
           made_of(kParent, Placement::replaces_one));
  const StepRecord record(kStep, step.batch);
  const StepBatch sampled = step.batch;
  place_derived(step.batch, TrainedOn::asked);
  // Samples 1 and 2 of the parent, then the one that has moved.
  const auto training = record.of(step.batch, {-0.5, 0.25, 1.5});
  const auto parent = io::training_of(training, sampled.groups[0]),
             derived = io::training_of(training, sampled.groups[1]);
  ASSERT_EQ(parent.size(), 3U);
  ASSERT_EQ(derived.size(), 2U);
  EXPECT_TRUE(parent[0].left);
  EXPECT_FALSE(parent[0].trained);
  EXPECT_TRUE(std::isnan(parent[0].advantage));
  EXPECT_TRUE(parent[1].trained);
  EXPECT_EQ(parent[1].advantage, -0.5);
  EXPECT_FALSE(parent[2].trained);
  EXPECT_FALSE(parent[2].left);
  EXPECT_EQ(parent[2].advantage, 0.25);
  EXPECT_TRUE(derived[0].left);
  EXPECT_TRUE(derived[1].trained);
  EXPECT_EQ(derived[1].advantage, 1.5);
  EXPECT_EQ(derived[1].weight, 0.5) << "it trains in the parent's group";
}

/// What the objective sees of moved rollouts: why they were asked, and which tokens nobody sampled.
TEST(PlaceDerived, ColumnsSayWhatRolloutsWereAskedFor) {
  Played step;
  step.add(kParent, 0, {0, 0}, {});
  Derivation tier = made_of(kParent, Placement::joins_parent, DerivedKind::hint);
  tier.tier = 2;
  step.add({kStep, kParent.prompt, 1}, first_derived_sample(std::uint32_t{1}), {1}, {1}, tier);
  step.add({kStep, kFirst, 0}, first_derived_sample(kFirst), {1}, {1},
           made_of(kParent, Placement::joins_parent));
  step.batch.groups[1].rollouts[0].facts = {{}, {.flags = turn_flag::given}};
  step.batch.groups[0].rollouts[1].opening = 2;
  EXPECT_EQ(place_derived(step.batch, TrainedOn::asked), 2U);
  ASSERT_EQ(step.batch.groups.size(), 1U);
  const auto named = make_train_batch(step.batch, {0}, 100, 8).columns.named;
  const auto refinement = double(DerivedKind::refinement), hint = double(DerivedKind::hint);
  // A refinement's samples have smaller numbers than those of a further draw.
  EXPECT_EQ(named.at("derived"), (std::vector<double>{0, 0, refinement, hint}));
  EXPECT_EQ(named.at("tier"), (std::vector<double>{0, 0, 0, 2}));
  EXPECT_EQ(named.at("opening"), (std::vector<double>{0, 2, 0, 0}));
  EXPECT_EQ(named.at("given"), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1}));
}

}  // namespace
}  // namespace rollcall::run
