// Conversations that begin on an expert's way: how deep in which step, in which states, and how far
// the way is left to the policy. Numbers worked by hand.
#include "run/coordinator/steps/start_states.hpp"

#include "driven.hpp"
#include "environment/chosen.hpp"
#include "io/sample_run.hpp"
#include "run/generation/conversation.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rollcall::run::test {
namespace {

EnvironmentSection section(const char* depth) {
  EnvironmentSection made;
  made.start_depth = depth;
  return made;
}

TEST(StartDepth, BackwardTakesOneActionLessEveryFewSteps) {
  const auto depth = [](std::uint64_t step) {  // of 4 actions, c = 5
    return start_depth(section("backward"), 4, step, 1, 0);
  };
  EXPECT_EQ(depth(1), 3);
  EXPECT_EQ(depth(5), 3);
  EXPECT_EQ(depth(6), 2);
  EXPECT_EQ(depth(11), 1);
  EXPECT_EQ(depth(16), 0);
  EXPECT_EQ(depth(400), 0);
}

TEST(StartDepth, SuccessLeavesAsManyActionsAsWereEarned) {
  const auto depth = [](std::int64_t left) {
    return start_depth(section("success"), 4, 9, left, 0);
  };
  EXPECT_EQ(depth(1), 3);
  EXPECT_EQ(depth(3), 1);
  EXPECT_EQ(depth(4), 0);
  EXPECT_EQ(depth(90), 0);
}

TEST(StartDepth, RandomIsAnywhereAndOwnIsTheBeginning) {
  std::set<std::int64_t> drawn;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    drawn.insert(start_depth(section("random"), 4, 1, 1, seed));
  EXPECT_EQ(drawn, (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(start_depth(section("own"), 4, 1, 1, 0), 0);
  for (const char* depth : {"backward", "success", "random"})
    EXPECT_EQ(start_depth(section(depth), 1, 1, 1, 5), 0) << "the last action is left";
}

TEST(ActionsLeft, GrowWithTheShareOfRightRollouts) {
  const auto after = [](std::vector<std::uint8_t> correct, DerivedKind kind = DerivedKind::none) {
    GroupReport report;
    report.correct = std::move(correct), report.from.kind = kind;
    return actions_left_after(section("success"), 2, {report});
  };
  EXPECT_EQ(after({1, 0}), 3);
  EXPECT_EQ(after({1, 0, 0}), 2);
  EXPECT_EQ(after({}), 2) << "no verdict earns nothing";
  EXPECT_EQ(after({1, 1}, DerivedKind::hint), 2) << "nor do rollouts with help";
}

TEST(MostTurns, GrowInTrainingAlone) {
  EnvironmentSection grows;
  grows.max_turns = 3, grows.turns_every = 5;
  StepPlan plan;
  const auto turns = [&](std::uint64_t step) {
    plan.step = step;
    return most_turns(grows, plan);
  };
  EXPECT_EQ(turns(1), 1);
  EXPECT_EQ(turns(5), 1);
  EXPECT_EQ(turns(6), 2);
  EXPECT_EQ(turns(11), 3);
  EXPECT_EQ(turns(99), 3);
  plan.split = Split::heldout;
  EXPECT_EQ(turns(1), 3);
  plan.split = Split::train, grows.turns_every = 0;
  EXPECT_EQ(turns(1), 3);
}

class Starts : public ::testing::Test {
 protected:
  std::vector<GroupPlan> set(const char* depth, std::uint64_t step, std::int64_t left = 1) {
    const RunContext context =
        driven_job(folder_.path(), 1,
                   {"task.name=key_door", fmt::format("environment.start_depth={}", depth)});
    std::vector<GroupPlan> groups{{.id = {step, {2}, 0}, .count = 4}};
    groups.push_back({.id = {step, {2}, 1}, .count = 4});
    groups.back().from = {.kind = DerivedKind::hint, .parent = groups.front().id};
    StartStates(context.config, context.texts).set(groups, left);
    prompt_ = context.texts.prompts.train[2];
    environment_ = environment::make_environment(context.config, *context.texts.format);
    return groups;
  }
  /// Actions of the expert from a state to the goal.
  int to_the_goal(const std::string& start) const {
    std::string state = *environment_->start(prompt_, start, 1).state;
    for (int taken = 1; taken < 99; ++taken) {
      const auto action = environment_->expert(prompt_, state, std::uint32_t(taken));
      const auto answer = environment_->step(prompt_, state, action.value(), 0, 0);
      if (answer.done) return answer.correct == true ? taken : -1;
      state = *answer.state;
    }
    return -1;
  }

 private:
  io::test::RunFolder folder_;
  Prompt prompt_;
  std::unique_ptr<const environment::Environment> environment_;
};

TEST_F(Starts, LeaveTheActionsOfTheScheduleAndHelpedGroupsBeginAlike) {
  const auto near = set("backward", 1);
  EXPECT_EQ(to_the_goal(near[0].start), 1);
  EXPECT_EQ(near[1].start, near[0].start);
  EXPECT_EQ(to_the_goal(set("backward", 6)[0].start), 2);
  EXPECT_EQ(to_the_goal(set("success", 6, 3)[0].start), 3);
  EXPECT_EQ(set("backward", 1000)[0].start, "");
  EXPECT_EQ(set("own", 1)[0].start, "");
}

}  // namespace
}  // namespace rollcall::run::test
