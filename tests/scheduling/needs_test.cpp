// What a policy cannot do without is told by the policy, as its knobs are set.
#include "base/errors/error.hpp"
#include "scheduling/scheduler.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace rollcall::scheduling {
namespace {

std::string needs_of(const SchedulerChoice& choice, const Knobs& knobs = {}) {
  std::string fields;
  const auto policy = make_scheduler(choice, knobs, PromptTable{.level = {1, 2, 3}}, 1);
  for (const Need& need : policy->traits().needs) {
    EXPECT_FALSE(need.reason.empty());
    fields += (fields.empty() ? "" : " ") + need.field;
  }
  return fields;
}

TEST(Needs, OfEveryRow) {
  const std::map<std::string, std::string> needs = {
      {"apriel_reasoner", "domain"}, {"v0", "prior"}, {"v0_5", "prior"}, {"arrol", "predicted"}};
  for (const auto& row : policy_names())
    EXPECT_EQ(needs_of({row}), needs.contains(row) ? needs.at(row) : "") << row;
}

TEST(Needs, FollowKnobsAndPieces) {
  EXPECT_EQ(needs_of({"sec"}, {{"arms", "domain"}}), "domain");
  EXPECT_EQ(needs_of({"sec"}, {{"arms", "level_domain"}}), "domain");
  EXPECT_EQ(needs_of({"mmr1"}, {{"diversity_weight", "0.5"}}), "diversity");
  EXPECT_EQ(needs_of({"v0"}, {{"prior_required", "false"}}), "");
  EXPECT_EQ(needs_of({.row = "apriel_reasoner", .selection = "survivors"}), "domain predicted");
}

/// What a policy says of steps of four of eight prompts, `mean` rollouts each.
std::string shortage_of(const SchedulerChoice& choice, const Knobs& knobs, std::int64_t mean,
                        std::int64_t least, std::int64_t most) {
  const PromptTable table{.level = {1, 2, 3, 4, 5, 6, 7, 8}, .domain = {0, 1, 0, 1, 0, 1, 0, 1}};
  const auto shortage = make_scheduler(choice, knobs, table, 1)
                            ->shortage({.step = 1,
                                        .prompts = 4,
                                        .budget = 4 * mean,
                                        .min_rollouts = least,
                                        .max_rollouts = most});
  return shortage ? shortage->problem + "; " + shortage->remedy : "";
}

/// A row that gives and draws as `uniform` does where prompts can get no more than the mean.
TEST(Room, IsMissedByEveryRowWhoseCountsDiffer) {
  const std::set<std::string> rows = {"uniform_sqrt",
                                      "rollout_gdro",
                                      "gdro_paper_rollout",
                                      "gdro_released_rollout",
                                      "gdro_both",
                                      "gdro_both_resample",
                                      "gdro_sqrt",
                                      "knapsack",
                                      "v0",
                                      "v0_5",
                                      "reinforce_ada",
                                      "reinforce_ada_positive",
                                      "xrpo",
                                      "prs_vspo",
                                      "dars_et",
                                      "dars_hw"};
  for (const auto& row : policy_names()) {
    EXPECT_EQ(shortage_of({row}, {}, 8, 2, 8).empty(), !rows.contains(row)) << row;
    EXPECT_EQ(shortage_of({row}, {}, 8, 2, 64), "") << row;
  }
}

TEST(Room, IsSaidWithTheSettingThatGivesIt) {
  using testing::HasSubstr;
  EXPECT_THAT(
      shortage_of({"knapsack"}, {}, 8, 2, 8),
      HasSubstr(
          "scheduler.max_rollouts is 8 and train.rollouts_per_prompt 8; set scheduler.max_rollouts=16"));
  EXPECT_THAT(shortage_of({"knapsack"}, {}, 8, 8, 32), HasSubstr("scheduler.min_rollouts is 8"));
  EXPECT_THAT(shortage_of({"rollout_gdro"}, {}, 16, 2, 32),
              HasSubstr("scheduler.knobs.most_arm is 12"));
  EXPECT_EQ(shortage_of({"rollout_gdro"}, {{"most_arm", "24"}}, 16, 2, 32), "");
  EXPECT_THAT(shortage_of({"prs_vspo"}, {}, 8, 2, 15), HasSubstr("set scheduler.max_rollouts=16"));
  EXPECT_EQ(shortage_of({"prs_vspo"}, {}, 8, 2, 16), "");
  EXPECT_THAT(shortage_of({"xrpo"}, {}, 4, 2, 32), HasSubstr("its pilot of 4 rollouts a prompt"));
  EXPECT_EQ(shortage_of({"xrpo"}, {{"pilot_rollouts", "2"}}, 4, 2, 32), "");
  EXPECT_THAT(shortage_of({"dars_et"}, {}, 32, 2, 64),
              HasSubstr("train.rollouts_per_prompt is 32 already"));
  EXPECT_THAT(shortage_of({"adhint"}, {}, 8, 8, 32), HasSubstr("set scheduler.min_rollouts=4"));
  EXPECT_EQ(shortage_of({"reinforce_ada"}, {{"ada_rounds", "1"}}, 8, 2, 8), "")
      << "its knobs ask for no further round";
}

}  // namespace
}  // namespace rollcall::scheduling
