// What a policy knows of its prompts: saved and loaded to the last bit, and followed by content
// into a changed set of prompts.
#include "scheduling/prompts/knowledge.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace rollcall::scheduling {
namespace {

std::unique_ptr<Knowledge> knowing(const PromptTable& table) {
  auto k = std::make_unique<Knowledge>(table, 1);
  k->history.use_bins();
  k->start();
  return k;
}

void load(Knowledge& k, const nlohmann::json& state) { k.load(state, rows_of(state)); }

void learn(Knowledge& k, std::uint64_t steps, std::uint64_t run = 1) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    const Cheap cheap(run, step);
    std::vector<GroupReport> reports;
    for (std::uint64_t i = 0; i < 5; ++i) {
      GroupReport r = no_results(
          {step, {std::uint64_t(cheap.between(2 * i, 0, std::int64_t(k.size()) - 1))}, 0}, 2);
      r.correct = {
          0, std::uint8_t(cheap.between(2 * i + 1, 0, 9) < std::int64_t(r.id.prompt.value % 11))};
      reports.push_back(r);
    }
    k.learn(reports);
  }
}

TEST(Knowledge, LoadsBitForBitWithTheOrderOfMembers) {
  const auto whole = knowing(prompt_table(50)), resumed = knowing(prompt_table(50));
  learn(*whole, 300);
  load(*resumed, nlohmann::json::parse(whole->save().dump()));
  std::size_t away = 0;
  for (std::int32_t b = 0; b < 6; ++b) {
    const auto a = whole->history.bins().members(b), c = resumed->history.bins().members(b);
    // draws take members by place
    EXPECT_EQ(std::vector(a.begin(), a.end()), std::vector(c.begin(), c.end())) << b;
    away += b != 3 ? a.size() : 0;
  }
  EXPECT_GT(away, 20U);
  for (std::uint64_t p = 0; p < 50; ++p) EXPECT_EQ(resumed->pass_rate({p}), whole->pass_rate({p}));
  learn(*whole, 50, 2), learn(*resumed, 50, 2);
  EXPECT_EQ(resumed->save(), whole->save());
}

TEST(Knowledge, RefusesStatesThatDoNotFit) {
  const auto k = knowing(prompt_table(5));
  EXPECT_THROW(load(*k, {{"prompts", {{5, 0, 0, 0, 0, 1, 3, 0}}}}),
               StorageError);  // no such prompt
  // leaves a hole in bin 3
  EXPECT_THROW(load(*k, {{"prompts", {{0, 0, 0, 0, 0, 1, 1, 0}}}}), StorageError);
  EXPECT_THROW(load(*k, {{"prompts", {{0, 0}}}}), nlohmann::json::exception);
}

PromptTable with_content(const std::vector<std::uint64_t>& content) {
  PromptTable table = prompt_table(content.size());
  table.content = content;
  return table;
}

TEST(Knowledge, ByBinUsesTheBinsOfTheDecision) {
  const auto k = knowing(prompt_table(4));
  GroupReport r = no_results({0, {2}, 0}, 2);
  r.correct = {0, 0, 0};
  k->learn({r});
  EXPECT_EQ(k->history.bins().of({2}), 0);  // it moved at the end of the step
  EXPECT_EQ(k->latest().groups[3], 1);      // its results belong where it was
  EXPECT_EQ(k->latest().rollouts[3], 3);
  EXPECT_EQ(k->latest().pass_rate[3], 0.0);
  EXPECT_EQ(k->by_bin({r}).groups[0], 1);
}

TEST(PromptMap, MatchesByContentAndEqualOnesInOrder) {
  const PromptMap map({10, 20, 20, 30, 20}, {20, 40, 20, 10});
  EXPECT_EQ(map.now(0), PromptId{3});
  EXPECT_EQ(map.now(1), PromptId{0});
  EXPECT_EQ(map.now(2), PromptId{2});
  EXPECT_FALSE(map.now(3));
  EXPECT_FALSE(map.now(4));
  EXPECT_FALSE(map.now(99));
  EXPECT_EQ(map.kept(), 3U);
}

TEST(ChangedPrompts, HistoriesFollowTheirPrompts) {
  for (const std::string row : {"gdro_both", "gdro_both_resample", "uniform_sqrt", "gdro_sqrt"}) {
    std::vector<std::uint64_t> content;
    for (std::uint64_t p = 0; p < 30; ++p) content.push_back(1000 + p);
    const auto before = make_scheduler({row}, {}, with_content(content), 1);
    for (std::uint64_t step = 0; step < 40; ++step)
      simulate_step(
          *before,
          {.step = step, .prompts = 8, .budget = 32, .min_rollouts = 1, .max_rollouts = 12});
    // Prompts 0..9 are gone, the others stand in reverse order behind 5 new ones.
    std::vector<std::uint64_t> changed = {1, 2, 3, 4, 5};
    changed.insert(changed.end(), content.rbegin(), content.rend() - 10);
    const auto after = make_scheduler({row}, {}, with_content(changed), 1);
    const LoadReport report = after->load(before->save());
    EXPECT_FALSE(report.same_prompts);
    EXPECT_EQ(report.kept, 20U);
    EXPECT_EQ(report.fresh, 5U);
    EXPECT_EQ(report.gone, 10U);
    EXPECT_TRUE(report.restarted.empty()) << row;
    for (std::uint64_t p = 0; p < 20; ++p) {
      EXPECT_EQ(after->bin({5 + p}), before->bin({29 - p})) << row;
      EXPECT_EQ(after->weight({5 + p}), before->weight({29 - p})) << row;
    }
    if (row != "uniform_sqrt") {
      for (std::uint64_t p = 0; p < 5; ++p) EXPECT_EQ(after->bin({p}), 3);
    }
    // The changed run is a run like any other: it goes on, and resumes to the last bit.
    const auto again = make_scheduler({row}, {}, with_content(changed), 1);
    const LoadReport same = again->load(after->save());
    EXPECT_TRUE(same.same_prompts);
    EXPECT_EQ(same.kept, 25U);
    const StepRequest request{
        .step = 40, .prompts = 12, .budget = 60, .min_rollouts = 1, .max_rollouts = 12};
    EXPECT_EQ(describe(simulate_step(*again, request)), describe(simulate_step(*after, request)));
    EXPECT_EQ(again->save(), after->save());
  }
}

TEST(ChangedPrompts, WithoutContentAStateFitsTablesOfItsSizeOnly) {
  const auto before = make_scheduler({"gdro_both"}, {}, prompt_table(30), 1);
  EXPECT_THROW(make_scheduler({"gdro_both"}, {}, prompt_table(29), 1)->load(before->save()),
               StorageError);
  EXPECT_TRUE(
      make_scheduler({"gdro_both"}, {}, prompt_table(30), 1)->load(before->save()).same_prompts);
  EXPECT_THROW(make_scheduler({"uniform"}, {}, PromptTable{.level = {2, 2}, .content = {1}}, 1),
               ConfigError);
}

}  // namespace
}  // namespace rollcall::scheduling
