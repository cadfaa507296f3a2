// Experts of the built-in environments: which have one, that its ways are won, and that its first
// action is the prompt's worked solution.
#include "environment/expert_way.hpp"

#include "environment/played.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::environment {
namespace {

constexpr std::int64_t kMost = 256;

class Expert : public ::testing::TestWithParam<std::string> {};

TEST_P(Expert, BelongsToWorldsWithATaskOfTheirOwn) {
  const bool has_task = find_environment(GetParam()).task != nullptr;
  RunConfig config = config_of(GetParam());
  config.environment.name = GetParam();
  EXPECT_EQ(has_expert(config), has_task);
  const auto environment = made(GetParam());
  for (const Prompt& p : prompts_of(GetParam()).train) {
    const ExpertWay way = expert_way(*environment, p, {p.id.value, 7}, kMost);
    EXPECT_EQ(!way.actions.empty(), has_task);
    EXPECT_EQ(way.states.size(), way.actions.size());
    EXPECT_EQ(way.said.size(), way.actions.size());
  }
}

TEST_P(Expert, BeginsWithTheWorkedSolutionAndReachesTheEnd) {
  if (find_environment(GetParam()).task == nullptr) return;
  const auto environment = made(GetParam());
  int won = 0, played = 0;
  for (const Prompt& p : prompts_of(GetParam()).train) {
    const Seeds seeds{p.id.value, p.id.value + 3};
    const ExpertWay way = expert_way(*environment, p, seeds, kMost);
    ASSERT_FALSE(way.actions.empty());
    EXPECT_EQ(way.actions.front(), p.solution) << p.text;
    EXPECT_TRUE(way.ends) << p.text;
    const auto last = std::uint32_t(way.actions.size() - 1);
    const Answer end =
        environment->step(p, way.states.back(), way.actions.back(), step_seed(seeds, last), last);
    ASSERT_TRUE(end.correct.has_value());
    ++played, won += *end.correct ? 1 : 0;
    // Chance decides on slippery ice and among machines.
    if (p.domain != "slippery" && GetParam() != "bandit") {
      EXPECT_TRUE(*end.correct) << p.text;
    }
  }
  EXPECT_GT(won, played / 2);
}

TEST_P(Expert, TakesNoMoreActionsThanAskedAndTheSameAgain) {
  const auto environment = made(GetParam());
  const Prompt prompt = prompts_of(GetParam()).train.front();
  const ExpertWay whole = expert_way(*environment, prompt, {1, 2}, kMost),
                  again = expert_way(*environment, prompt, {1, 2}, kMost);
  EXPECT_EQ(whole.states, again.states);
  EXPECT_EQ(whole.said, again.said);
  if (whole.actions.size() < 2) return;
  const ExpertWay one = expert_way(*environment, prompt, {1, 2}, 1);
  EXPECT_EQ(one.actions, std::vector<std::string>{whole.actions.front()});
  EXPECT_FALSE(one.ends);
}

TEST_P(Expert, KnowsNothingToSayInWhatIsNoState) {
  const auto environment = made(GetParam());
  const Prompt prompt = prompts_of(GetParam()).train.front();
  for (const char* state : {"", "-", "{}", "[1]", "../. 0 0"})
    EXPECT_EQ(environment->expert(prompt, state, 0), std::nullopt) << state;
}

INSTANTIATE_TEST_SUITE_P(Environments, Expert, ::testing::ValuesIn(environment_names()),
                         [](const auto& i) { return i.param; });

TEST(Experts, OpenOneThingOfTheKindAfterTheOther) {
  const auto environment = made("shop");
  std::size_t longest = 0;
  for (const Prompt& p : prompts_of("shop").train) {
    const ExpertWay way = expert_way(*environment, p, {p.id.value, 1}, kMost);
    longest = std::max(longest, way.actions.size());
    for (std::size_t i = 0; i + 1 < way.actions.size(); i += 2)
      for (std::size_t j = 0; j < i; j += 2) EXPECT_NE(way.actions[i], way.actions[j]);
  }
  EXPECT_GT(longest, 2U) << "some first thing is a wrong one";
}

}  // namespace
}  // namespace rollcall::environment
