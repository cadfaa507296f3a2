// What every row of the table must hold: resume equal to no interruption, states and knobs that
// refuse what is wrong. Budgets: exact_totals_test.cpp.
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/scheduler.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace rollcall::scheduling {
namespace {

class EveryPolicy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Rows, EveryPolicy, testing::ValuesIn(policy_names()),
                         [](const auto& row) { return row.param; });

TEST_P(EveryPolicy, ResumeEqualsNoInterruption) {
  for (std::uint64_t run = 0; run < 12; ++run) {
    const Cheap cheap(run);
    const auto table = prompt_table(std::size_t(cheap.between(0, 5, 60)));
    const std::uint64_t seed = cheap.bits(1);
    const auto undisturbed = make_scheduler({GetParam()}, {}, table, seed);
    auto interrupted = make_scheduler({GetParam()}, {}, table, seed);
    for (std::uint64_t step = 0; step < 25; ++step) {
      const StepRequest request = any_request(Cheap(run, step + 1), step);
      ASSERT_EQ(describe(simulate_step(*undisturbed, request)),
                describe(simulate_step(*interrupted, request)))
          << run << ' ' << step;
      const std::string state = interrupted->save();
      ASSERT_EQ(state, undisturbed->save());  // doubles included, to the last bit: they print as
                                              // the shortest text that reads back
      interrupted = make_scheduler({GetParam()}, {}, table, seed);
      interrupted->load(state);
      ASSERT_EQ(interrupted->save(), state);
      ASSERT_EQ(interrupted->metrics(), undisturbed->metrics());
      for (std::uint64_t p = 0; p < table.size(); ++p) {
        ASSERT_EQ(interrupted->bin({p}), undisturbed->bin({p}));
        ASSERT_EQ(interrupted->weight({p}), undisturbed->weight({p}));
      }
    }
  }
}

TEST_P(EveryPolicy, RefusesStatesThatAreNotItsOwn) {
  const auto policy = make_scheduler({GetParam()}, {}, prompt_table(10), 1);
  auto state = nlohmann::json::parse(policy->save());
  EXPECT_EQ(state.at("format"), 4);
  for (const std::string broken : {"", "{}", "[1]", "not json"})
    EXPECT_THROW(policy->load(broken), StorageError) << broken;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"format", 2},
                                                           {"policy", "other"},
                                                           {"prompts", 11},
                                                           {"sampler", nullptr},
                                                           {"allocator", 3}}) {
    auto wrong = state;
    wrong[key] = value;
    EXPECT_THROW(policy->load(wrong.dump()), StorageError) << key;
  }
  policy->load(state.dump());
  EXPECT_EQ(policy->save(), state.dump());
}

TEST_P(EveryPolicy, RefusesUnknownKnobs) {
  EXPECT_THROW(make_scheduler({GetParam()}, {{"levl_decay", "0.5"}}, prompt_table(10), 1),
               ConfigError);
}

TEST(Policies, UnknownRowNamesTheNearest) {
  try {
    make_scheduler({"uniform_sqr"}, {}, prompt_table(4), 1);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean uniform_sqrt"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(make_scheduler({"uniform"}, {}, {}, 1), ConfigError);
}

TEST(Policies, MetricsAreTheFieldsNames) {
  const auto policy = make_scheduler({"uniform"}, {}, PromptTable{{2, 2, 3, 5}}, 1);
  EXPECT_TRUE(policy->metrics().empty());
  policy->begin_step({.step = 0, .prompts = 4, .budget = 10, .min_rollouts = 1, .max_rollouts = 9});
  std::map<std::string, double> m;
  for (const auto& [name, value] : policy->metrics()) m[name] = value;
  EXPECT_EQ(m.at("rollout_alloc/min"), 2);
  EXPECT_EQ(m.at("rollout_alloc/max"), 3);
  EXPECT_EQ(m.at("rollout_alloc/mean"), 2.5);
  EXPECT_EQ(m.at("rollout_alloc/std"), 0.5);
  EXPECT_EQ(m.at("rollout_alloc/total_budget"), 10);
  EXPECT_NEAR(m.at("rollout_alloc/entropy"), -2 * (0.3 * std::log(0.3) + 0.2 * std::log(0.2)),
              1e-15);
  EXPECT_NEAR(m.at("rollout_alloc/class_share/2") + m.at("rollout_alloc/class_share/3") +
                  m.at("rollout_alloc/class_share/5"),
              1.0, 1e-15);
}

TEST(Policies, SquareRootMovesTheBudgetToWhereOutcomesVary) {
  const auto policy =
      make_scheduler({"uniform_sqrt"}, {{"level_decay", "0.95"}}, prompt_table(64, 4), 1);
  std::map<std::int32_t, std::uint32_t> fewest, most;  // counts by level in the last step
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Decision d = policy->begin_step(
        {.step = step, .prompts = 16, .budget = 128, .min_rollouts = 2, .max_rollouts = 32});
    fewest.clear(), most.clear();
    std::vector<GroupReport> reports;
    for (const auto& g : d.groups) {
      GroupReport r = no_results(g.id, g.level);
      for (std::uint32_t s = 0; s < g.count; ++s)
        r.correct.push_back(g.level == 2 ? 1 : g.level == 5 ? 0 : s % 2);
      reports.push_back(std::move(r));
      fewest[g.level] = fewest.contains(g.level) ? std::min(fewest[g.level], g.count) : g.count;
      most[g.level] = std::max(most[g.level], g.count);
    }
    policy->end_step(reports);
  }
  ASSERT_EQ(most.size(), 4U);
  EXPECT_GT(fewest[3], 2 * most[2]);  // always right: nothing to learn
  EXPECT_GT(fewest[4], 2 * most[5]);  // always wrong: nothing to learn from either
  EXPECT_GE(fewest[5], 2U);
}

}  // namespace
}  // namespace rollcall::scheduling
