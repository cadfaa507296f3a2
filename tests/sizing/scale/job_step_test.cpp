// A step of a simulated job against numbers worked by hand: cores that ranks share, one rank, two
// ranks, and that nobody's seconds are lost.
#include "sizing/scale/calibration.hpp"
#include "sizing/scale/events.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace rollcall::sizing::scale {
namespace {

/// Everything free, so that a test names what it looks at.
Costs free_costs() {
  Costs costs;
  for (const auto& cost : cost_names()) costs.*cost.value = 0.0;
  return costs;
}

Cluster one_node(const std::string& layout, int ranks, int cores) {
  return {.layout = comm::make_layout(layout, ranks),
          .threads = 1,
          .ranks_per_node = ranks,
          .cores_per_node = cores};
}

Workload alike(std::int64_t prompts, std::int64_t rollouts, std::int32_t length) {
  return {.prompts = prompts,
          .rollouts = rollouts,
          .prompt_tokens = 0.0,
          .lengths = {length},
          .trained = 1.0,
          .micro_batch_tokens = 1,
          .weights = 0};
}

void expect_nobody_lost_seconds(const StepTimes& times) {
  for (const auto& rank : times.ranks) {
    EXPECT_NEAR(rank.compute + rank.imbalance + rank.exchange + rank.waiting, times.step,
                1e-9 * times.step);
    for (const double part : {rank.compute, rank.imbalance, rank.exchange, rank.waiting})
      EXPECT_GE(part, -1e-9 * times.step);
  }
}

TEST(Events, HappenInOrderOfTimeAndThenOfAsking) {
  Events events;
  std::string seen;
  events.later(2.0, [&] { seen += "c"; });
  events.later(1.0, [&] { seen += "a", events.later(1.0, [&] { seen += "d"; }); });
  events.later(1.0, [&] { seen += "b"; });
  events.run();
  EXPECT_EQ(seen, "abcd");
  EXPECT_EQ(events.now(), 2.0);
}

TEST(Cores, AreSharedEqually) {
  Events events;
  Cores core(events, 1.0);
  double first = 0.0, second = 0.0;
  core.compute(1.0, [&] { first = events.now(); });
  events.later(0.5, [&] { core.compute(1.0, [&] { second = events.now(); }); });
  events.run();
  EXPECT_DOUBLE_EQ(first, 1.5);   // alone for 0.5, then half of the core for 1
  EXPECT_DOUBLE_EQ(second, 2.0);  // half of it for 1, then alone for 0.5
}

TEST(Cores, EnoughOfThemAreNotShared) {
  Events events;
  Cores cores(events, 2.0);
  std::vector<double> ends;
  for (int job = 0; job < 3; ++job) cores.compute(1.0 + job, [&] { ends.push_back(events.now()); });
  events.run();
  // Three jobs on two cores run at 2/3: the first ends at 1.5, when the others have 1 and 2 left
  // and a core each.
  EXPECT_EQ(ends, (std::vector<double>{1.5, 2.5, 3.5}));
}

TEST(Cores, AreSlowerInACrowd) {
  Events events;
  Cores cores(events, 3.0, 0.5);
  std::vector<double> ends;
  for (int job = 0; job < 2; ++job) cores.compute(1.0 + job, [&] { ends.push_back(events.now()); });
  events.run();
  // Two of three cores: half of the crowding, so 1.25 s for a second's work; then the rest alone.
  EXPECT_EQ(ends, (std::vector<double>{1.25, 2.25}));
}

TEST(JobStep, OneRankTakesTheSumOfItsParts) {
  Costs costs;
  costs.decode_step = 0.1, costs.decode_token = 0.01, costs.draft = 0.2, costs.file = 5.0,
  costs.file_wait = 3.0, costs.unpack_rollout = 0.025, costs.unpack_step = 0.75,
  costs.gather_rollout = 0.015, costs.turn = 11.0, costs.crowding = 0.5, costs.train_token = 0.02,
  costs.micro_batch = 0.5;
  costs.optimizer_weight = 0.001, costs.publish_weight = 0.002, costs.hop = 7.0,
  costs.message = 0.004, costs.schedule_prompt = 0.003;
  Workload work = alike(2, 4, 10);
  work.prompt_tokens = 5.0, work.weights = 100;
  const auto times = simulate_step(one_node("single", 1, 1), work, costs);
  const double generation = 10 * 0.1 + (40 + 2 * 5) * 0.01, columns = 0.75 + 4 * 0.025,
               update = columns + (40 + 2 * 5) * 0.02 + 50 * 0.5 + 100 * (0.001 + 0.002);
  EXPECT_NEAR(times.generation, generation, 1e-12);
  EXPECT_NEAR(times.generation_mean, generation, 1e-12);
  EXPECT_NEAR(times.archive, 0.2, 1e-12);  // it is in memory, and its file is written meanwhile
  EXPECT_NEAR(times.columns, columns, 1e-12);
  EXPECT_NEAR(times.update, update, 1e-12);  // of fifty micro-batches; a collective of one rank has
                                             // no hop
  EXPECT_NEAR(times.step, generation + 0.2 + update + 2 * 2 * 0.003 + 4 * 0.004, 1e-12);
  EXPECT_NEAR(times.ranks[0].compute, generation + update, 1e-12);
  EXPECT_NEAR(times.ranks[0].imbalance, 0.0, 1e-12);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, WaitingForTheSlowestIsItsTimeMinusMine) {
  Costs costs = free_costs();
  costs.decode_token = 1.0;
  // dealt as 2 and 1
  const auto times = simulate_step(one_node("colocated", 2, 2), alike(3, 3, 1), costs);
  EXPECT_DOUBLE_EQ(times.generation, 2.0);
  EXPECT_DOUBLE_EQ(times.generation_mean, 1.5);
  EXPECT_DOUBLE_EQ(times.step, 2.0);
  EXPECT_DOUBLE_EQ(times.ranks[0].imbalance, 0.0);
  EXPECT_DOUBLE_EQ(times.ranks[1].imbalance, 2.0 - 1.0);
  EXPECT_DOUBLE_EQ(times.shares().compute, 3.0 / 4.0);
  EXPECT_DOUBLE_EQ(times.shares().imbalance, 1.0 / 4.0);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, RanksThatShareACoreTakeTurns) {
  Costs costs = free_costs();
  costs.decode_token = 1.0;
  const auto times = simulate_step(one_node("colocated", 2, 1), alike(3, 3, 1), costs);
  EXPECT_DOUBLE_EQ(times.generation, 3.0);  // all the work there is
  EXPECT_DOUBLE_EQ(times.generation_mean, 2.5);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, TheColumnsAreTheLeadersWorkWhileOthersWait) {
  Costs costs = free_costs();
  costs.unpack_rollout = 1.0;
  const auto times = simulate_step(one_node("colocated", 2, 1), alike(3, 3, 1), costs);
  EXPECT_DOUBLE_EQ(times.step, 3.0);
  EXPECT_DOUBLE_EQ(times.columns, 3.0);
  EXPECT_DOUBLE_EQ(times.update, 3.0);
  EXPECT_DOUBLE_EQ(times.ranks[0].compute, 3.0);
  EXPECT_DOUBLE_EQ(times.ranks[1].compute, 0.0);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, MicroBatchesAreDealtAndCollectivesHaveHops) {
  Costs costs = free_costs();
  costs.train_token = 1.0, costs.hop = 0.25;
  // five micro-batches of a token on four ranks
  const auto times = simulate_step(one_node("colocated", 4, 4), alike(5, 5, 1), costs);
  EXPECT_DOUBLE_EQ(times.update, 2.0 + 3 * 2 * 0.25);  // behind the reading: three collectives of
                                                       // log2(4) hops
  EXPECT_DOUBLE_EQ(times.ranks[0].compute, 2.0);
  EXPECT_DOUBLE_EQ(times.ranks[3].compute, 1.0);
  EXPECT_DOUBLE_EQ(times.ranks[3].imbalance, 1.0);
  EXPECT_DOUBLE_EQ(times.ranks[3].exchange, 4 * 2 * 0.25);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, FewMicroBatchesAreAboutEvenAndTheLastIsWhatIsLeft) {
  Costs costs = free_costs();
  costs.train_token = 1.0;
  const auto ranks_of = [&](std::int64_t rollouts, std::int64_t micro_batch_tokens, int ranks) {
    Workload work = alike(1, rollouts, 1);
    work.micro_batch_tokens = micro_batch_tokens;
    return simulate_step(one_node("colocated", ranks, ranks), work, costs).ranks;
  };
  EXPECT_DOUBLE_EQ(ranks_of(1300, 1024, 2)[0].compute, 650.0 * 17 / 16);  // not 1024 and 276
  EXPECT_DOUBLE_EQ(ranks_of(1300, 1024, 2)[1].compute, 650.0 * 15 / 16);
  // three micro-batches become four
  EXPECT_DOUBLE_EQ(ranks_of(3000, 1024, 3)[0].compute, 3000.0 - 2 * 750.0 * 17 / 16);
  EXPECT_DOUBLE_EQ(ranks_of(19, 2, 2)[0].compute, 10.0);
  EXPECT_DOUBLE_EQ(ranks_of(19, 2, 2)[1].compute, 9.0);
}

TEST(JobStep, AMicroBatchCostsHoweverFewTokensItHas) {
  Costs costs = free_costs();
  costs.micro_batch = 3.0, costs.train_token = 1.0;
  Workload work = alike(1, 260, 1);
  work.micro_batch_tokens = 1024;
  EXPECT_DOUBLE_EQ(simulate_step(one_node("colocated", 1, 1), work, costs).update, 260.0 + 2 * 3.0);
  EXPECT_DOUBLE_EQ(simulate_step(one_node("colocated", 2, 2), work, costs).update,
                   130.0 * 17 / 16 + 3.0);
}

TEST(JobStep, RanksThatShareCoresEndATurnLater) {
  Costs costs = free_costs();
  costs.decode_token = 1.0, costs.turn = 0.25;
  EXPECT_DOUBLE_EQ(simulate_step(one_node("colocated", 4, 4), alike(4, 4, 1), costs).step, 1.0);
  const auto shared = simulate_step(one_node("colocated", 4, 2), alike(4, 4, 1), costs);
  EXPECT_DOUBLE_EQ(shared.step, 2.0 + 0.25);
  EXPECT_DOUBLE_EQ(shared.generation, 2.0);
  // one of them generates
  EXPECT_DOUBLE_EQ(simulate_step(one_node("disaggregated", 4, 1), alike(4, 4, 1), costs).step, 4.0);
  expect_nobody_lost_seconds(shared);
}

TEST(JobStep, ARankWithoutTheStageWaits) {
  Costs costs = free_costs();
  costs.decode_token = 1.0, costs.train_token = 2.0;
  // a rank for each stage
  const auto times = simulate_step(one_node("disaggregated", 4, 4), alike(1, 1, 1), costs);
  EXPECT_DOUBLE_EQ(times.step, 3.0);
  EXPECT_DOUBLE_EQ(times.ranks[1].compute, 1.0);
  EXPECT_DOUBLE_EQ(times.ranks[1].waiting, 2.0);
  EXPECT_DOUBLE_EQ(times.ranks[3].compute, 2.0);
  EXPECT_DOUBLE_EQ(times.ranks[3].waiting, 1.0);
  EXPECT_DOUBLE_EQ(times.ranks[0].waiting, 3.0);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, WhatOtherRanksReadIsWrittenFirst) {
  Costs costs = free_costs();
  costs.decode_token = 1.0, costs.train_token = 2.0, costs.draft = 8.0, costs.file = 0.25,
  costs.file_wait = 0.5;
  const auto times = simulate_step(one_node("disaggregated", 4, 4), alike(1, 1, 1), costs);
  // written and stored, then read by the scorer and by the update rank
  EXPECT_DOUBLE_EQ(times.step, 3.0 + 0.25 + 0.5 + 0.25 + 0.25);
  expect_nobody_lost_seconds(times);
}

TEST(JobStep, BytesArePaidBetweenNodesOnly) {
  Costs costs = free_costs();
  costs.train_token = 1.0;
  Workload work = alike(2, 2, 1);
  work.weights = 1000;
  Cluster cluster = one_node("colocated", 2, 2);
  cluster.latency_s = 0.5, cluster.bytes_per_s = 1000.0;
  EXPECT_DOUBLE_EQ(simulate_step(cluster, work, costs).update, 1.0);
  cluster.ranks_per_node = 1;
  // Three collectives with a hop between two nodes: columns of two tokens (20 bytes each), half of
  // the sum (8 bytes) and of the weights (4 bytes); a rank looks twice a millisecond.
  EXPECT_DOUBLE_EQ(simulate_step(cluster, work, costs).update,
                   1.0 + 3 * (0.5 + 0.25e-3) + 0.04 + 4.0 + 2.0);
}

/// Ranks that each stand alone, of a group and a file each: a plan that named all of them to all
/// would grow with the square.
TEST(JobStep, PlansGrowWithTheRanksAlone) {
  const auto step = [](int ranks) {
    Cluster cluster = one_node("colocated", ranks, 1);
    cluster.ranks_per_node = 1, cluster.bytes_per_s = 1.0;
    return simulate_step(cluster, alike(ranks, ranks, 1), free_costs()).step;
  };
  const double few = step(9), many = step(65);
  EXPECT_GT(few, 8 * 2 * 200.0);  // two plans to each of the others
  EXPECT_LT(many, 64.0 / 8.0 * 1.05 * few);
}

TEST(JobStep, NobodyWakesTheRanksOfSeveralNodes) {
  Cluster cluster = one_node("disaggregated", 4, 4);
  EXPECT_DOUBLE_EQ(simulate_step(cluster, alike(1, 1, 1), free_costs()).step, 0.0);
  cluster.ranks_per_node = 2;
  // The plan, the shard, its scores, the update's plan, word of the update; then the new weights: a
  // message and a hop between the nodes.
  EXPECT_DOUBLE_EQ(simulate_step(cluster, alike(1, 1, 1), free_costs()).step, 7 * 0.25e-3);
}

TEST(JobStep, ManyRanksAreDeterministicAndLoseNothing) {
  Workload work = alike(4000, 32000, 1);
  work.lengths = {1, 5, 9, 16}, work.micro_batch_tokens = 64, work.weights = 1000;
  for (const char* layout : {"colocated", "disaggregated"}) {
    const auto times = simulate_step(one_node(layout, 5000, 64), work, Costs());
    EXPECT_EQ(times.step, simulate_step(one_node(layout, 5000, 64), work, Costs()).step);
    expect_nobody_lost_seconds(times);
  }
}

TEST(Fit, FindsCostsThatPredictOtherRanks) {
  Costs truth;
  truth.decode_step = 4e-4, truth.decode_token = 6e-6, truth.file = 1e-3, truth.file_wait = 6e-3,
  truth.unpack_rollout = 1.5e-5, truth.train_token = 9e-6, truth.hop = 3e-4,
  truth.micro_batch = 3e-3, truth.unpack_step = 3e-3, truth.turn = 3e-3;
  const auto measured = [&](const char* layout, int ranks, std::int64_t prompts) {
    Workload work = alike(prompts, 8 * prompts, 12);
    work.micro_batch_tokens = 512, work.weights = 600000;
    MeasuredRun run{
        .name = layout, .cluster = one_node(layout, ranks, 2), .work = work, .times = {}};
    run.times = simulate_step(run.cluster, run.work, truth);
    return run;
  };
  const Costs costs = fit({measured("colocated", 1, 16), measured("colocated", 2, 64),
                           measured("colocated", 8, 64), measured("colocated", 4, 32),
                           // two of these: what files cost shows only there
                           measured("disaggregated", 4, 64), measured("disaggregated", 8, 64)});
  for (const auto& run : {measured("colocated", 3, 64), measured("colocated", 6, 96),
                          measured("disaggregated", 6, 64)}) {
    const auto simulated = simulate_step(run.cluster, run.work, costs);
    EXPECT_NEAR(simulated.step / run.times.step, 1.0, 0.01) << run.cluster.layout.ranks;
    EXPECT_NEAR(simulated.columns / run.times.columns, 1.0, 0.05) << run.cluster.layout.ranks;
  }
}

}  // namespace
}  // namespace rollcall::sizing::scale
