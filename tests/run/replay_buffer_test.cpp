// The window of earlier groups: what it keeps, what it gives back, and that files say the same as
// memory.
#include "run/update/replay_buffer.hpp"
#include "run/context/recipe_needs.hpp"
#include "run/random_batch.hpp"
#include "run/step/group_training.hpp"
#include "run/step/step_record.hpp"
#include "run/step/step_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::run {
namespace {

using io::test::RunFolder;

const ReplaySection kHalf{.share = 0.5,
                          .max_staleness = 4,
                          .choose = "newest",
                          .distinct_prompts = false,
                          .old_policy = "sampler"};

/// Two groups of two rollouts; group 1 has equal rewards. Sampled by policy `step`.
StepBatch step_of(std::uint64_t step) {
  StepBatch batch;
  batch.component_names = {"correct"};
  batch.policy = {step};
  for (std::uint64_t p = 0; p < 2; ++p) {
    Group group{.id = {step, {p}, 0}, .level = 1, .rollouts = {}};
    auto& scores = batch.scores.emplace_back();
    for (std::uint32_t i = 0; i < 2; ++i) {
      const float logprob = -float(step) - 0.5F * float(i);
      group.rollouts.push_back(
          {.sample = i,
           .finish = FinishReason::stop,
           .turns = {{.role = Role::prompt, .tokens = {1, 5}},
                     {.role = Role::policy,
                      .tokens = {7, 2},
                      .columns = {.logprob = {logprob, logprob}, .entropy = {1, 1}},
                      .policy_version = {step, step}}},
           .text = "7"});
      scores.push_back({.components = {double(i)},
                        .reward = p == 0 ? double(i) : 1.0,
                        .correct = true,
                        .answer = "7"});
    }
    batch.groups.push_back(std::move(group));
  }
  return batch;
}

std::vector<GroupId> ids(const StepBatch& batch) {
  std::vector<GroupId> all;
  for (const auto& group : batch.groups) all.push_back(group.id);
  return all;
}

TEST(ReplayBuffer, StartsAnewWhereTheBaseModelChanges) {
  RunConfig config;
  config.objective.recipe = "remix-squeeze", config.reference.refresh_every = 4;
  std::vector<std::uint64_t> first;
  for (std::uint64_t step = 1; step <= 9; ++step) first.push_back(first_replayed(config, step));
  EXPECT_EQ(first, (std::vector<std::uint64_t>{1, 1, 1, 1, 5, 5, 5, 5, 9}));
  config.objective.recipe = "dots-rr";
  EXPECT_EQ(first_replayed(config, 9), 0U);
  EXPECT_FALSE(forgets_at_refresh(config));
  config.objective.recipe = "remix-squeeze", config.reference.refresh_every = 0;
  EXPECT_TRUE(forgets_at_refresh(config));
  EXPECT_EQ(first_replayed(config, 9), 0U) << "the base model never changes";
  ReplayBuffer buffer(kHalf, 1);
  for (std::uint64_t s = 1; s <= 3; ++s) buffer.remember(step_of(s));
  buffer.forget_before(3);
  EXPECT_EQ(buffer.groups(), 2U);
  buffer.forget_before(4);
  StepBatch batch = step_of(4);
  buffer.add_to(batch, 4);
  EXPECT_EQ(batch.replayed, 0U);
}

TEST(ReplayBuffer, GivesEarlierGroupsBackBehindTheStepsOwn) {
  ReplayBuffer buffer(kHalf, 1);
  for (std::uint64_t s = 1; s <= 3; ++s) buffer.remember(step_of(s));
  StepBatch batch = step_of(4);
  buffer.add_to(batch, 4);
  EXPECT_EQ(ids(batch), (std::vector<GroupId>{{4, {0}, 0}, {4, {1}, 0}, {3, {0}, 0}, {3, {1}, 0}}));
  EXPECT_EQ(batch.replayed, 2U);
  const auto columns = make_train_batch(batch, {0, 1, 2, 3}, 100, 8).columns;
  EXPECT_EQ(columns.replayed, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(columns.named.at("version_lag"), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
  // what was stored when they were sampled
  EXPECT_EQ(columns.old_logprob, columns.rollout_logprob);
  EXPECT_EQ(columns.rollout_logprob[8], -3.0);
  EXPECT_EQ(ids(own_rollouts(batch)), ids(step_of(4)));
}

TEST(ReplayBuffer, OtherOldLogProbsStandInWhereAGroupHasThem) {
  StepBatch batch = step_of(4);
  batch.columns[kProximalLogprob] = {{}, {-9, -8, -7, -6}};
  const auto columns = make_train_batch(batch, {0, 1}, 100, 8).columns;
  EXPECT_EQ(columns.old_logprob, (std::vector<double>{-4, -4, -4.5, -4.5, -9, -8, -7, -6}));
  EXPECT_EQ(columns.rollout_logprob[4], -4.0);
}

TEST(ReplayBuffer, ForgetsWhatIsTooStale) {
  ReplayBuffer buffer(kHalf, 1);
  for (std::uint64_t s = 1; s <= 9; ++s) {
    buffer.forget({s});
    buffer.remember(step_of(s));
  }
  EXPECT_EQ(buffer.groups(), 10U);  // policies 5 to 9
  buffer.forget({12});
  EXPECT_EQ(buffer.groups(), 4U);  // 8 and 9
}

/// Four groups of thirteen taught something: what was filtered does not come back, in whatever
/// place, and what does is weighed and chosen as it was.
TEST(ReplayBuffer, BringsBackOnlyWhatTrainedAndAsItTrained) {
  StepBatch drawn, again;
  for (std::uint64_t p = 0; p < 13; ++p)
    for (StepBatch* batch : {&drawn, &again}) {
      StepBatch one = step_of(batch == &drawn ? 1 : 2);
      one.groups[0].id.prompt = {p};
      batch->component_names = one.component_names, batch->policy = one.policy;
      batch->groups.push_back(one.groups[0]), batch->scores.push_back(one.scores[0]);
      batch->training.push_back(
          {.id = one.groups[0].id,
           .weight = 1.0 + double(p),
           .keep = p % 3 == 0 ? std::vector<std::uint8_t>{0, 1} : std::vector<std::uint8_t>{0, 0}});
    }
  ReplayBuffer buffer(kHalf, 1);
  buffer.remember(drawn);
  EXPECT_EQ(buffer.groups(), 5U);
  for (auto& training : again.training)
    training.keep = training.id.prompt.value < 4 ? std::vector<std::uint8_t>{}
                                                 : std::vector<std::uint8_t>{0, 0};
  buffer.add_to(again, 2);
  EXPECT_EQ(again.replayed, 4U) << "as many as train, not as were drawn";
  ASSERT_EQ(again.training.size(), 17U);
  for (std::size_t g = 13; g < 17; ++g) {
    EXPECT_EQ(again.training[g].id, again.groups[g].id);
    EXPECT_EQ(again.training[g].keep, (std::vector<std::uint8_t>{0, 1}));
    EXPECT_EQ(again.training[g].weight, 1.0 + double(again.groups[g].id.prompt.value));
  }
  EXPECT_EQ(composition(again).at("train/rollouts_trained"), 4 * 2 + 4);
  EXPECT_EQ(composition(again).at("train/rollouts_generated"), 26);
  EXPECT_EQ(composition(again).at("replay/rollouts"), 4);
}

TEST(ReplayBuffer, CountsWhatWasGeneratedAndWhatIsTrained) {
  ReplayBuffer buffer(kHalf, 1);
  buffer.remember(step_of(1));
  StepBatch batch = step_of(4);
  EXPECT_EQ(composition(batch), (std::map<std::string, double>{{"train/rollouts_generated", 4},
                                                               {"train/rollouts_trained", 4}}));
  buffer.add_to(batch, 4);
  batch.groups[0].rollouts.push_back(
      {.sample = kExpertSample, .finish = FinishReason::stop, .turns = {}, .text = ""});
  batch.scores[0].push_back({});
  const auto counts = composition(batch);
  EXPECT_EQ(counts.at("train/rollouts_generated"), 4);
  EXPECT_EQ(counts.at("train/rollouts_trained"), 9);
  EXPECT_EQ(counts.at("replay/rollouts"), 4);
  EXPECT_EQ(counts.at("experts/rollouts"), 1);
  EXPECT_EQ(counts.at("replay/staleness_mean"), 3);
}

/// Published as rank `producer` would.
UnpackedFile publish(const std::filesystem::path& run_dir, const StepBatch& batch) {
  const std::uint64_t step = batch.groups.front().id.step;
  const RolloutShard shard{Purpose::train, step, 0, 0, {step}, 1.0F, batch.groups};
  const ScoredShard scores{Purpose::train, step, 0, 0, batch.component_names, batch.scores};
  return {Purpose::train,
          step,
          {io::publish(run_dir, io::draft_shard(shard, std::vector<io::ShardPrompt>(2, {"p", "a"}),
                                                io::test::identity())),
           io::publish(run_dir, io::draft_scores(scores, shard, io::test::identity()))}};
}

TEST(ReplayBuffer, ShardsAndArchiveSayWhatMemoryHeld) {
  const RunFolder run;
  const auto alone = comm::alone();
  std::vector<UnpackedFile> files;
  for (std::uint64_t s = 1; s <= 6; ++s) files.push_back(publish(run, step_of(s)));
  for (const std::uint64_t first : {1U, 3U}) {  // steps 1-2 and 3-4 are packed, and the state still
                                                // names all files, as after a stop behind a pack
    std::vector<io::PackInput> inputs;
    for (std::uint64_t s = first; s < first + 2; ++s)
      inputs.push_back({files[s - 1].files.shard, files[s - 1].files.scores});
    io::pack(*alone, run, "train_" + std::to_string(first), inputs, io::test::identity());
  }
  // before step 6, policy 2 or newer
  const auto steps = read_earlier_steps(run, files, 6, 2, *alone);
  ASSERT_EQ(steps.size(), 4U);
  for (std::uint64_t s = 2; s <= 5; ++s) EXPECT_EQ(to_wire(steps[s - 2]), to_wire(step_of(s))) << s;
  // an older checkpoint: what was packed since is not there yet
  EXPECT_EQ(read_earlier_steps(run, files, 4, 3, *alone).size(), 1U);
}

/// A step's decision is read again from its own file and from the archive; a step of an earlier
/// build has none.
TEST(ReplayBuffer, FilesSayWhatTrained) {
  const RunFolder run;
  const auto alone = comm::alone();
  std::vector<UnpackedFile> files;
  std::vector<io::PackInput> packed;
  for (const std::uint64_t s : {1, 2, 3, 4}) {
    StepBatch step = step_of(s);
    files.push_back(publish(run, step));
    if (s == 1) continue;
    decide(step, {{.id = step.groups[1].id, .weight = double(s), .keep = {0, 1}}});
    const StepRecord record(s, step);
    const auto file =
        io::publish(run, io::draft_training(record.of(step, {1, 2, 3, 4}), io::test::identity()));
    files.push_back({Purpose::train, s, {file, file}});
    EXPECT_TRUE(is_training(files.back()));
  }
  for (const auto& file : files)
    if (file.step < 3) packed.push_back({file.files.shard, file.files.scores});
  io::pack(*alone, run, "train_1", packed, io::test::identity());
  const auto steps = read_earlier_steps(run, files, 5, 1, *alone);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_TRUE(steps[0].training.empty());
  for (const std::uint64_t s : {2U, 3U, 4U}) {
    ASSERT_EQ(steps[s - 1].training.size(), 2U) << s;
    EXPECT_EQ(trained_rollouts(steps[s - 1], 0), 2U);
    EXPECT_EQ(steps[s - 1].training[1].weight, double(s));
    EXPECT_EQ(steps[s - 1].training[1].keep, (std::vector<std::uint8_t>{0, 1}));
  }
}

}  // namespace
}  // namespace rollcall::run
