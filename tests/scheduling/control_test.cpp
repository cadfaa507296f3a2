// Policies made deaf: what they hear instead, and who has the knob.
#include "scheduling/trace/control.hpp"

#include "base/errors/error.hpp"
#include "scheduling/schedulers.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace rollcall::scheduling {
namespace {

std::vector<GroupReport> heard(const std::string& kind, const std::vector<GroupReport>& reports) {
  Control control;
  ConfigSchema schema;
  control.bind(schema);
  schema.set("control=" + kind);
  return control.heard(reports, {1, RandomPurpose::test});
}

std::vector<GroupReport> some_reports() {
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 40; ++p) {
    GroupReport r = no_results({3, {p}, 0}, 2);
    r.rewards.assign(2 + p % 5, p < 20 ? 1.0 : 0.0);
    r.correct.assign(r.rewards.size(), p < 20);
    r.mean_abs_advantage = double(p) / 40;
    reports.push_back(std::move(r));
  }
  return reports;
}

TEST(Control, ShuffledKeepsSizesAndTheStepsOutcomes) {
  const auto told = some_reports(), got = heard("shuffled", told);
  double sum = 0.0, sum_got = 0.0, pay = 0.0, pay_got = 0.0;
  int mixed = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    ASSERT_EQ(got[i].rewards.size(), told[i].rewards.size());
    for (std::size_t j = 0; j < got[i].rewards.size(); ++j)
      EXPECT_EQ(got[i].correct[j] != 0, got[i].rewards[j] > 0.5);
    sum += std::accumulate(told[i].rewards.begin(), told[i].rewards.end(), 0.0),
        sum_got += std::accumulate(got[i].rewards.begin(), got[i].rewards.end(), 0.0);
    pay += told[i].mean_abs_advantage, pay_got += got[i].mean_abs_advantage;
    mixed += std::set<double>(got[i].rewards.begin(), got[i].rewards.end()).size() > 1;
  }
  EXPECT_EQ(sum_got, sum);
  EXPECT_NEAR(pay_got, pay, 1e-12);
  EXPECT_GT(mixed, 20);  // not one was
}

TEST(Control, ConstantAndInverted) {
  const auto constant = heard("constant", some_reports()),
             inverted = heard("inverted", some_reports());
  for (const GroupReport& r : constant) {
    EXPECT_TRUE(std::all_of(r.rewards.begin(), r.rewards.end(), [](double x) { return x == 0.5; }));
    EXPECT_EQ(r.mean_abs_advantage, 0.5);
  }
  EXPECT_NEAR(inverted[10].mean_abs_advantage, 0.75, 1e-15);
  EXPECT_EQ(inverted[10].rewards, some_reports()[10].rewards);
}

TEST(Control, EveryPolicyThatLearnsHasIt) {
  const std::set<std::string> nothing_learned = {"uniform",
                                                 "rmt",
                                                 "dapo",
                                                 "dler",
                                                 "brorl",
                                                 "reinforce_ada",
                                                 "reinforce_ada_positive",
                                                 "dars_et",
                                                 "dars_hw",
                                                 "xrpo",
                                                 "pods",
                                                 "d3s",
                                                 "arrol",
                                                 "prs_vspo",
                                                 "rstar2_agent",
                                                 "ghpo",
                                                 "scaf_grpo",
                                                 "adhint"};
  for (const auto& row : policy_names()) {
    const bool has = describe_knobs({.row = row}).find("control") != std::string::npos;
    EXPECT_EQ(has, !nothing_learned.contains(row)) << row;
  }
  // no sign in what it learns
  EXPECT_THROW(make_scheduler({"vade"}, {{"control", "inverted"}}, prompt_table(4), 1),
               ConfigError);
  EXPECT_THROW(make_scheduler({"ucb"}, {{"control", "death"}}, prompt_table(4), 1), ConfigError);
}

TEST(Control, DifficultyBinsHearTheTruth) {
  const auto plain = make_scheduler({"gdro_resample"}, {}, prompt_table(40), 3),
             deaf = make_scheduler({"gdro_resample"}, {{"control", "constant"}, {"eta", "0"}},
                                   prompt_table(40), 3);
  GroupReport r = no_results({0, {7}, 0}, 2);
  r.rewards = {0.0, 0.0}, r.correct = {0, 0};
  for (const auto* policy : {&plain, &deaf}) (*policy)->end_step({r});
  EXPECT_EQ(plain->bin({7}), 0);
  EXPECT_EQ(deaf->bin({7}), 0);
}

}  // namespace
}  // namespace rollcall::scheduling
