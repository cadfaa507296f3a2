// Prompts that leave a sampler no choice.
#include "scheduling/schedulers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {
namespace {

std::string problem(const std::string& policy, std::vector<std::int32_t> levels,
                    std::vector<std::int32_t> domains = {}, std::int64_t prompts = 4) {
  const auto scheduler = make_scheduler(
      {policy}, {}, PromptTable{.level = std::move(levels), .domain = std::move(domains)}, 1);
  StepRequest request{.step = 1, .prompts = prompts, .budget = prompts * 8};
  request.max_rollouts = 64;
  const auto shortage = scheduler->shortage(request);
  return shortage ? shortage->problem : "";
}

TEST(Shortage, SamplersOfOneLevelHaveNoChoice) {
  const std::vector<std::int32_t> one(20, 3);
  std::vector<std::int32_t> two = one;
  two.front() = 4;
  for (const auto* policy : {"sec", "rmt", "craft_gui"}) {
    EXPECT_NE(problem(policy, one).find("all prompts have one"), std::string::npos) << policy;
    EXPECT_EQ(problem(policy, two), "") << policy;
    EXPECT_EQ(problem(policy, {0}), "") << policy << ": the prompts are not known";
  }
  EXPECT_NE(problem("apriel_reasoner", two, one).find("domains of prompts"), std::string::npos);
  EXPECT_EQ(problem("apriel_reasoner", one, two), "");
  EXPECT_EQ(problem("uniform", one), "");
}

TEST(Shortage, AStepOfAllPromptsPrefersNone) {
  const std::vector<std::int32_t> levels{1, 2, 3, 4};
  for (const auto* policy : {"vade", "sec", "spo", "mmr1"}) {
    EXPECT_NE(problem(policy, levels).find("prefers some prompts"), std::string::npos) << policy;
    EXPECT_EQ(problem(policy, levels, {}, 3), "") << policy;
  }
  for (const auto* policy : {"uniform", "dapo", "one_shot"})
    EXPECT_EQ(problem(policy, levels), "") << policy;
}

}  // namespace
}  // namespace rollcall::scheduling
