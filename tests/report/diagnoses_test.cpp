// Every rule just above its threshold and just below it, what is told first, how often the log
// repeats it, and the page that lists the rules.
#include "report/diagnoses.hpp"

#include "base/files/file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

namespace rollcall::report {
namespace {

using Values = std::map<std::string, double>;

/// A step of a healthy run with two optimizer steps, at which no rule has anything to say.
const Values kHealthy{{"train/frac_reward_zero_std", 0.3},
                      {"response_length/clip_ratio", 0.05},
                      {"actor/entropy", 0.5},
                      {"critic/component/format/mean", 0.8},
                      {"critic/component/correct/mean", 0.4},
                      {"actor/grad_norm", 1.5},
                      {"actor/ratio_min", 1.0},
                      {"actor/ratio_max", 1.0},
                      {"actor/ratio_mean", 1.0},
                      {"actor/ratio_min_last", 0.9},
                      {"actor/ratio_max_last", 1.1},
                      {"actor/pg_loss", 0.02},
                      {"rollout_alloc/class_share/2", 0.3},
                      {"rollout_alloc/class_share/3", 0.4},
                      {"rollout_alloc/class_share/4", 0.3},
                      {"train/distinct_prompts_share", 1.0},
                      {"train/epoch", 0.5},
                      {"timing_s/generation", 0.8},
                      {"timing_s/generation_mean", 0.7},
                      {"timing_s/step", 1.0},
                      {"perf/slowest_rank", 3.0}};

RunConfig two_updates() {
  RunConfig config;
  config.train.mini_batches = 2;
  config.task.format_weight = 0.2;
  return config;
}

/// `value` of the metric at each step, 1 to `steps`; others as in a healthy run.
RecentSteps steps_with(const std::function<Values(std::uint64_t)>& value,
                       std::uint64_t steps = 60) {
  RecentSteps recent;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    Values values = value(step);
    values.insert(kHealthy.begin(), kHealthy.end());
    recent.add({"train", step, {values.begin(), values.end()}});
  }
  return recent;
}

std::vector<std::string> names(const std::vector<Diagnosis>& all) {
  std::vector<std::string> list;
  for (const auto& diagnosis : all) list.push_back(diagnosis.name);
  return list;
}

struct Case {
  std::string name, says;
  std::function<Values(std::uint64_t)> holds, just_not;
};

std::function<Values(std::uint64_t)> always(const Values& values) {
  return [values](std::uint64_t) { return values; };
}

std::vector<Case> cases() {
  return {
      {"equal_rewards", "81 % of the groups", always({{"train/frac_reward_zero_std", 0.81}}),
       always({{"train/frac_reward_zero_std", 0.79}})},
      {"truncated", "26 % of the answers", always({{"response_length/clip_ratio", 0.26}}),
       always({{"response_length/clip_ratio", 0.25}})},
      {"entropy_collapse", "0.095 nats",
       [](std::uint64_t step) {
         return Values{{"actor/entropy", step <= 10 ? 0.5 : 0.095}};
       },
       [](std::uint64_t step) {
         return Values{{"actor/entropy", step <= 10 ? 0.5 : 0.1}};
       }},
      {"format_only", "rises (by 0.06",
       [](std::uint64_t step) {
         return Values{{"critic/component/format/mean", step > 40 ? 0.86 : 0.8},
                       {"critic/component/correct/mean", step > 40 ? 0.409 : 0.4}};
       },
       [](std::uint64_t step) {
         return Values{{"critic/component/format/mean", step > 40 ? 0.86 : 0.8},
                       {"critic/component/correct/mean", step > 40 ? 0.411 : 0.4}};
       }},
      {"clipped_gradient", "in 55 % of the steps",
       [](std::uint64_t step) {
         return Values{{"actor/grad_norm", step % 20 < 11 ? 5.1 : 1.0}};
       },
       [](std::uint64_t step) {
         return Values{{"actor/grad_norm", step % 20 < 10 ? 5.1 : 1.0}};
       }},
      {"policy_stands_still", "moves nothing",
       always({{"actor/ratio_min_last", 1.0}, {"actor/ratio_max_last", 1.0009}}),
       always({{"actor/ratio_min_last", 1.0}, {"actor/ratio_max_last", 1.0011}})},
      {"ratio_far_from_one", "is 0.89", always({{"actor/ratio_mean", 0.89}}),
       always({{"actor/ratio_mean", 0.91}})},
      {"ratio_far_from_one", "reaches 10.1",
       [](std::uint64_t step) {
         return Values{{"actor/ratio_max_last", step % 20 < 11 ? 10.1 : 10.05}};
       },
       [](std::uint64_t step) {
         return Values{{"actor/ratio_max_last", step % 20 < 10 ? 10.1 : 9.0}};
       }},
      {"one_level", "level 3 takes 51 %", always({{"rollout_alloc/class_share/3", 0.51}}),
       always({{"rollout_alloc/class_share/3", 0.5}})},
      {"repeated_prompts", "only 49 %", always({{"train/distinct_prompts_share", 0.49}}),
       always({{"train/distinct_prompts_share", 0.5}})},
      {"repeated_prompts", "drawn 11 times", always({{"train/epoch", 10.6}}),
       always({{"train/epoch", 10.0}})},
      {"one_rank_dominates",
       "idle for 41 % of that time, waiting for the slowest (in 18 of 20 steps rank 1)",
       [](std::uint64_t step) {  // another rank happens to be the slowest in the last two steps
         return Values{{"timing_s/generation_mean", 0.59 * 0.8},
                       {"perf/slowest_rank", step >= 59 ? 0.0 : 1.0}};
       },
       always({{"timing_s/generation_mean", 0.61 * 0.8}})},
      {"generation_dominates", "takes 91 %",
       always({{"timing_s/generation", 0.91}, {"timing_s/generation_mean", 0.9}}),
       always({{"timing_s/generation", 0.89}, {"timing_s/generation_mean", 0.88}})},
      {"loss_near_zero", "expected on policy", always({{"actor/pg_loss", -0.0009}}),
       always({{"actor/pg_loss", -0.0011}})},
  };
}

TEST(Diagnoses, EachRuleHoldsAboveItsThresholdAndIsSilentBelow) {
  EXPECT_EQ(names(diagnose(steps_with(always({})), two_updates())), std::vector<std::string>{});
  for (const auto& c : cases()) {
    const auto found = diagnose(steps_with(c.holds), two_updates());
    ASSERT_EQ(names(found), std::vector{c.name});
    EXPECT_NE(found[0].what.find(c.says), std::string::npos) << found[0].what;
    EXPECT_EQ(names(diagnose(steps_with(c.just_not), two_updates())), std::vector<std::string>{})
        << c.name;
  }
}

TEST(Diagnoses, EveryRuleHasACase) {
  for (const auto& line : {diagnoses_table()}) {
    std::size_t rules = 0;
    for (std::size_t at = line.find("| `"); at != std::string::npos;
         at = line.find("| `", at + 1), ++rules) {
      const auto name = line.substr(at + 3, line.find('`', at + 3) - at - 3);
      const auto all = cases();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& c) {
        return c.name == name;
      })) << name;
    }
    EXPECT_GE(rules, 12U);
  }
}

TEST(Diagnoses, SettingsThatMakeAFindingMeaninglessSilenceIt) {
  RunConfig one_update = two_updates(), unweighted = two_updates(), unclipped = two_updates();
  one_update.train.mini_batches = 1, unweighted.task.format_weight = 0,
  unclipped.train.optimizer.max_grad_norm = 0;
  const auto held = [](const std::string& name) {
    for (auto& c : cases())
      if (c.name == name) return steps_with(c.holds);
    throw std::logic_error(name);
  };
  EXPECT_TRUE(diagnose(held("policy_stands_still"), one_update).empty());
  EXPECT_TRUE(diagnose(held("format_only"), unweighted).empty());
  EXPECT_TRUE(diagnose(held("clipped_gradient"), unclipped).empty());
}

TEST(Diagnoses, ThreeAtMostAndNotesLast) {
  const auto found = diagnose(steps_with(always({{"actor/pg_loss", 0.0},
                                                 {"train/frac_reward_zero_std", 0.9},
                                                 {"response_length/clip_ratio", 0.9}})),
                              two_updates());
  EXPECT_EQ(names(found),
            (std::vector<std::string>{"equal_rewards", "truncated", "loss_near_zero"}));
  const Values all{{"actor/pg_loss", 0.0},
                   {"train/frac_reward_zero_std", 0.9},
                   {"response_length/clip_ratio", 0.9},
                   {"actor/ratio_mean", 2.0}};
  EXPECT_EQ(names(diagnose(steps_with(always(all)), two_updates())),
            (std::vector<std::string>{"equal_rewards", "truncated", "ratio_far_from_one"}));
}

TEST(Diagnoses, CutAnswersOfConversationsNameAllLimits) {
  Values values{{"response_length/clip_ratio", 0.9}};
  RunConfig config = two_updates();
  config.sampling.max_new_tokens = 64, config.sampling.turn_tokens = 16;
  const auto said = [&] { return diagnose(steps_with(always(values)), config).at(0).what; };
  EXPECT_EQ(said(), "90 % of the answers are cut off at sampling.max_new_tokens = 64");
  values["turns/mean"] = 2.0;
  EXPECT_TRUE(
      said().ends_with("sampling.max_new_tokens = 64, at the positions of the model, or "
                       "at sampling.turn_tokens = 16"))
      << said();
  config.environment.max_tokens = 96, config.sampling.turn_tokens = 0;
  EXPECT_TRUE(said().ends_with(" = 64, at environment.max_tokens = 96")) << said();
}

TEST(Diagnoses, FewStepsMissingMetricsAndOtherPhasesSayNothing) {
  const auto bad = always({{"train/frac_reward_zero_std", 1.0}});
  EXPECT_TRUE(diagnose(steps_with(bad, 9), two_updates()).empty());
  EXPECT_FALSE(diagnose(steps_with(bad, 10), two_updates()).empty());
  EXPECT_TRUE(diagnose({}, two_updates()).empty());
  RecentSteps bare, other;
  for (std::uint64_t step = 1; step <= 60; ++step)
    bare.add({"train", step, {{"x", NAN}}}),
        other.add({"sft", step, {{"train/frac_reward_zero_std", 1.0}}});
  EXPECT_TRUE(diagnose(bare, two_updates()).empty());
  EXPECT_TRUE(diagnose(other, two_updates()).empty());
}

TEST(Diagnoses, OneOddStepSaysNothing) {
  EXPECT_TRUE(diagnose(steps_with([](std::uint64_t step) {
                         return step == 55
                                    ? Values{{"actor/ratio_mean", 2.9}, {"actor/grad_norm", 1e6}}
                                    : Values{};
                       }),
                       two_updates())
                  .empty());
}

TEST(Diagnoses, LogTellsAWarningOnceAndAgainAfterAWhileAndNoNote) {
  DiagnosisLog log;
  const Diagnosis warning{"a", DiagnosisKind::warning, "what", "do"},
      note{"b", DiagnosisKind::note, "what", "do"};
  EXPECT_EQ(names(log.due(20, {warning, note})), std::vector<std::string>{"a"});
  EXPECT_TRUE(log.due(21, {warning}).empty());
  EXPECT_TRUE(log.due(119, {warning}).empty());
  EXPECT_EQ(log.due(120, {warning}).size(), 1U);
  EXPECT_TRUE(log.due(121, {}).empty());
  EXPECT_EQ(log.due(122, {warning}).size(), 1U);  // it had ended and begins again
  EXPECT_EQ(warning.text(), "what; do [a]");
}

TEST(Diagnoses, PageListsTheTable) {
  const auto page =
      read_file(std::filesystem::path(ROLLCALL_SOURCE_DIR) / "src/report/DIAGNOSES.md");
  EXPECT_NE(page.find(diagnoses_table()), std::string::npos)
      << "src/report/DIAGNOSES.md must hold:\n"
      << diagnoses_table();
}

}  // namespace
}  // namespace rollcall::report
