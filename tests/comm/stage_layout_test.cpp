// Layouts up to 4,096 ranks, and the plan of a transfer, without any transport.
#include "comm/stage_layout.hpp"
#include "comm/weight_transfer.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::comm {
namespace {

constexpr std::array kAll{Stage::coordinator, Stage::generation, Stage::scoring, Stage::update};

TEST(StageLayout, HoldsItsPromisesUpTo4096Ranks) {
  for (int ranks = 1; ranks <= 4096; ++ranks) {
    for (const std::string& name : valid_layouts(ranks)) {
      const StageLayout layout = make_layout(name, ranks);
      ASSERT_EQ(layout.name, name);
      ASSERT_EQ(layout.ranks, ranks);
      ASSERT_EQ(layout.of(Stage::coordinator), std::vector<int>{0});
      std::vector<int> hosted(std::size_t(ranks), 0);
      for (const Stage stage : kAll) {
        const auto& hosts = layout.of(stage);
        ASSERT_FALSE(hosts.empty()) << stage_name(stage) << " of " << ranks;
        ASSERT_TRUE(std::is_sorted(hosts.begin(), hosts.end()) && hosts.front() >= 0 &&
                    hosts.back() < ranks);
        for (const int r : hosts) ++hosted[std::size_t(r)];
      }
      const bool apart = name == "disaggregated";
      for (int r = 0; r < ranks; ++r)
        ASSERT_EQ(hosted[std::size_t(r)], apart    ? 1
                                          : r == 0 ? 4
                                                   : 3)
            << name << " rank " << r << " of " << ranks;
    }
  }
}

/// Largest remainder stays within one rank of the exact share; the floor of one rank a stage can
/// move a share by one more.
TEST(StageLayout, SharesAreFourToOneToThree) {
  for (int ranks = 4; ranks <= 4096; ++ranks) {
    const StageLayout layout = make_layout("disaggregated", ranks);
    const double rest = ranks - 1, slack = ranks <= 9 ? 2 : 1;
    ASSERT_LT(std::abs(double(layout.of(Stage::generation).size()) - rest * 4 / 8), slack) << ranks;
    ASSERT_LT(std::abs(double(layout.of(Stage::scoring).size()) - rest / 8), slack) << ranks;
    ASSERT_LT(std::abs(double(layout.of(Stage::update).size()) - rest * 3 / 8), slack) << ranks;
  }
  const StageLayout nine = make_layout("disaggregated", 9);  // 8 shared out without remainder
  EXPECT_EQ(nine.of(Stage::generation), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(nine.of(Stage::scoring), std::vector<int>{5});
  EXPECT_EQ(nine.of(Stage::update), (std::vector<int>{6, 7, 8}));
  // 5 * {4, 1, 3} / 8 = {2.5, 0.625, 1.875}: the two left go to update and scoring
  const StageLayout six = make_layout("disaggregated", 6);
  EXPECT_EQ(six.of(Stage::generation).size(), 2u);
  EXPECT_EQ(six.of(Stage::scoring).size(), 1u);
  EXPECT_EQ(six.of(Stage::update).size(), 2u);
}

TEST(StageLayout, JudgesStandOnTheLastRanksOrWithScoring) {
  for (const char* name : {"auto", "colocated", "disaggregated"}) {
    for (int own = 0; own <= 3; ++own) {
      const int ranks = 6 + own;
      const StageLayout layout = with_judges(name, ranks, own), without = make_layout(name, 6);
      EXPECT_EQ(layout.ranks, ranks);
      for (const Stage stage : kAll)
        EXPECT_EQ(layout.of(stage), without.of(stage)) << stage_name(stage);
      EXPECT_TRUE(without.of(Stage::judge).empty());
      std::vector<int> last(std::size_t(own), 0);
      std::iota(last.begin(), last.end(), 6);
      EXPECT_EQ(layout.of(Stage::judge), own == 0 ? layout.of(Stage::scoring) : last);
    }
  }
  EXPECT_STREQ(stage_name(Stage::judge), "judge");
  for (const int own : {2, 3}) {
    try {
      with_judges("auto", 2, own);
      ADD_FAILURE();
    } catch (const EnvironmentError& error) {
      EXPECT_NE(std::string(error.what())
                    .find("judge.ranks is " + std::to_string(own) + ", and the job has 2 ranks"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(StageLayout, AutoAndMisfits) {
  EXPECT_EQ(make_layout("auto", 1).name, "single");
  EXPECT_EQ(make_layout("auto", 2).name, "colocated");
  EXPECT_EQ(valid_layouts(3), (std::vector<std::string>{"colocated"}));
  EXPECT_EQ(valid_layouts(4), (std::vector<std::string>{"colocated", "disaggregated"}));
  EXPECT_THROW(make_layout("single", 2), EnvironmentError);
  EXPECT_THROW(make_layout("auto", 0), EnvironmentError);
  try {
    make_layout("disaggregated", 3);
    ADD_FAILURE();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("4 or more"), std::string::npos) << error.what();
  }
  try {
    make_layout("collocated", 3);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean colocated?"), std::string::npos)
        << error.what();
  }
}

TEST(TransferPlan, EveryFloatTravelsOnceInEqualShares) {
  EXPECT_TRUE(rc::check([] {
    const int ranks = *rc::gen::inRange(4, 200);
    const StageLayout layout = make_layout("disaggregated", ranks);
    std::vector<WeightSlice> slices;
    std::int64_t end = 0;
    for (const int count : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5000))) {
      slices.push_back({std::to_string(slices.size()), end + 3, count});  // gaps between tensors
      end += 3 + count;
    }
    std::vector<int> sent(std::size_t(end), 0);
    std::int64_t most = 0, total = 0;
    const auto plan = plan_transfer(layout, slices);
    for (const TransferBatch& batch : plan) {
      RC_ASSERT(layout.hosts_stage(batch.root, Stage::update));
      RC_ASSERT(batch.receivers == layout.of(Stage::generation));
      std::int64_t bytes = 0;
      for (const WeightSlice& piece : batch.slices) {
        const WeightSlice& whole = slices.at(std::size_t(std::stoi(piece.name)));
        RC_ASSERT(piece.offset >= whole.offset &&
                  piece.offset + piece.count <= whole.offset + whole.count);
        for (std::int64_t i = 0; i < piece.count; ++i) ++sent[std::size_t(piece.offset + i)];
        bytes += piece.count;
      }
      most = std::max(most, bytes), total += bytes;
    }
    for (const WeightSlice& slice : slices) {
      for (std::int64_t i = 0; i < slice.count; ++i)
        RC_ASSERT(sent[std::size_t(slice.offset + i)] == 1);
    }
    RC_ASSERT(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}) == total);
    const auto roots = std::int64_t(std::min<std::size_t>(8, layout.of(Stage::update).size()));
    RC_ASSERT(most <= total / roots + 1);
  }));
}

/// Eight ranks on four nodes: 0 coordinates, 1 to 3 generate, 4 scores, 5 to 7 update.
TEST(TransferPlan, ANodeReceivesOnceAndNoneThatUpdates) {
  StageLayout layout = make_layout("disaggregated", 8);
  layout.nodes = {0, 0, 2, 2, 4, 4, 6, 6};
  const std::vector<WeightSlice> slices{{"w", 0, 10}};
  const auto hosted = layout.of(Stage::generation);
  ASSERT_EQ(hosted, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(layout.of(Stage::update), (std::vector<int>{5, 6, 7}));
  for (const auto& batch : plan_transfer(layout, slices))
    EXPECT_EQ(batch.receivers, (std::vector<int>{1, 2}));
  EXPECT_EQ(layout.on_node_of(3), 2);
  EXPECT_EQ(layout.on_node_of(0, Stage::generation), 1);
  EXPECT_EQ(layout.on_node_of(7, Stage::update), 2);
  layout.nodes.assign(8, 0);
  EXPECT_TRUE(plan_transfer(layout, slices).empty());
}

TEST(TransferPlan, NothingTravelsWhereGeneratorsUpdate) {
  const std::vector<WeightSlice> slices{{"w", 0, 10}};
  EXPECT_TRUE(plan_transfer(make_layout("single", 1), slices).empty());
  EXPECT_TRUE(plan_transfer(make_layout("colocated", 5), slices).empty());
  EXPECT_TRUE(plan_transfer(make_layout("disaggregated", 5), {}).empty());
}

}  // namespace
}  // namespace rollcall::comm
