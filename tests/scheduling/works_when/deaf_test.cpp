// Controls of everything that learns: made deaf, bandits and curricula lose what their own tests
// show them to gain.
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>

namespace rollcall::scheduling {
namespace {

/// Share of one of three arms among the places of the second half: 60 prompts an arm, of which the
/// middle one alone pays.
double share_of_the_paying(const std::string& row, Knobs knobs, std::uint64_t seed) {
  PromptTable table = table_of({});
  for (std::uint64_t p = 0; p < 180; ++p)
    table.level.push_back(2 + std::int32_t(p % 3)), table.prior.push_back(0.25F * float(1 + p % 3));
  if (row != "sec") knobs.insert(knobs.end(), {{"bin_edges", "[0.4, 0.6]"}, {"bin_margin", "0.5"}});
  const auto policy = make_scheduler({row}, knobs, table, seed);
  double paying = 0.0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    std::vector<GroupReport> reports;
    for (const auto& g :
         policy
             ->begin_step(
                 {.step = step, .prompts = 6, .budget = 12, .min_rollouts = 2, .max_rollouts = 2})
             .groups) {
      const bool pays = g.id.prompt.value % 3 == 1;
      reports.push_back(group(g.id.prompt.value, 1, 2, step));
      reports.back().mean_abs_advantage = pays ? 0.9 : 0.1;
      // no estimate leaves its bin by the widest margin
      reports.back().correct.assign(2, g.id.prompt.value % 3 == 2);
      paying += step >= 50 && pays;
    }
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    policy->end_step(reports);
  }
  return paying / 300;
}

double mean_share(const std::string& row, const Knobs& knobs) {
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    sum += share_of_the_paying(row, knobs, seed) / 12;
  return sum;
}

TEST(DeafBandits, DoNotFindWhatPays) {
  for (const std::string row : {"epsilon_greedy", "ucb", "thompson", "sec"}) {
    const Knobs own = row == "sec" ? Knobs{{"bandit_temperature", "0.2"}} : Knobs{};
    const auto with = [&](const std::string& control) {
      Knobs knobs = own;
      knobs.emplace_back("control", control);
      return mean_share(row, knobs);
    };
    EXPECT_GT(mean_share(row, own), 0.6) << row;
    EXPECT_LT(with("constant"), 0.45) << row;
    // Not shuffled: a bandit that fills a step with one arm hears the step's mean, whoever gets
    // which pay.
    EXPECT_LT(with("inverted"), 0.3) << row;
  }
}

TEST(DeafCurricula, DrawAsManyGroupsThatTeachNothingAsUniform) {
  // Every third prompt is never solved, every third half the time, every third always.
  const auto thirds = [](std::uint64_t prompt) { return 0.5 * double(prompt % 3); };
  const StepRequest step = {
      .step = 0, .prompts = 10, .budget = 80, .min_rollouts = 8, .max_rollouts = 8};
  const auto dead = [&](const std::string& row, const Knobs& knobs) {
    double sum = 0.0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      sum += dead_share(*make_scheduler({row}, knobs, prompt_table(60, 1), seed), step, 20, 30,
                        thirds) /
             4;
    return sum;
  };
  const double uniform = dead("uniform", {});
  for (const std::string row : {"pcl", "dots_rr", "vade", "spo", "mmr1"}) {
    EXPECT_LT(dead(row, {}), 0.9 * uniform) << row;
    for (const std::string control : {"constant", "shuffled"})
      EXPECT_GT(dead(row, {{"control", control}}), 0.92 * uniform) << row << ' ' << control;
  }
}

/// Mean rollouts of the prompts at one half over those that are always or never solved, after 40
/// steps.
double favour(const std::string& row, const Knobs& knobs) {
  // levels and rates go together
  const auto policy = make_scheduler({row}, knobs, prompt_table(60, 3), 1);
  double half = 0.0, rest = 0.0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    const auto played =
        play(*policy,
             {.step = step, .prompts = 30, .budget = 120, .min_rollouts = 1, .max_rollouts = 16},
             at_rates([](std::uint64_t prompt) { return 0.5 * double(prompt % 3); }));
    for (const auto& r : played.reports)
      (r.id.prompt.value % 3 == 1 ? half : rest) += step >= 40 ? double(r.rewards.size()) : 0.0;
  }
  return half / (rest / 2);
}

TEST(DeafBudgets, FollowNoPrompt) {
  for (const std::string row : {"uniform_sqrt", "gdro_sqrt"}) {
    EXPECT_GT(favour(row, {}), 1.5) << row;
    for (const std::string control : {"constant", "shuffled"})
      EXPECT_NEAR(favour(row, {{"control", control}}), 1.0, 0.25) << row << ' ' << control;
  }
}

}  // namespace
}  // namespace rollcall::scheduling
