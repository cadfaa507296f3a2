// Settings of a second pass that are refused, each with its reason.
#include "run/context/derived/second_pass_checks.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

/// The message of the faults; empty where there are none.
std::string told(const RunConfig& config, const std::string& recipe = "grpo") {
  Faults faults;
  check_second_pass(config, *method::make_objective(recipe, {}, {}), faults);
  try {
    faults.require_none();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return {};
}

RunConfig refining() {
  RunConfig config;
  config.second_pass.kind = "refinement";
  return config;
}

void expect_told(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST(CheckSecondPass, AllowsWhatFits) {
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told(refining()), "");
  RunConfig config = refining();
  config.second_pass.kind = "error", config.second_pass.placement = "own_group";
  EXPECT_EQ(told(config), "");
  config = {};
  config.second_pass.buffer = 0.25;
  EXPECT_EQ(told(config), "");
  config = {};
  config.second_pass.kind = "pool", config.task.forms = {"boxed"};
  EXPECT_EQ(told(config), "");
}

TEST(CheckSecondPass, RefusesKindsThatAreNotThere) {
  RunConfig config;
  config.second_pass.kind = "counterpart";
  expect_told(told(config), "second_pass.kind is counterpart");
  expect_told(told(config), "choose refinement, error or pool");
}

TEST(CheckSecondPass, RefusesRecipesThatReadThePastOfAPrompt) {
  expect_told(told(refining(), "spo-single-stream"), "is asked once");
  expect_told(told(refining(), "remax"), "greedy_reward");
  EXPECT_EQ(told({}, "remax"), "");
  RunConfig config;
  config.second_pass.buffer = 0.25;
  expect_told(told(config, "remax"), "second_pass.buffer is 0.25");
}

TEST(CheckSecondPass, RefusesWhatDoesNotGoWithIt) {
  RunConfig config = refining();
  config.task.forms = {"boxed"};
  expect_told(told(config), "task.forms is set");
  config.second_pass.kind = "pool";
  EXPECT_EQ(told(config), "");
  config.second_pass.buffer = 0.25;
  expect_told(told(config), "second_pass.buffer is 0.25, and task.forms is set");
  config = refining();
  config.second_pass.trained_on = "parent";
  EXPECT_EQ(told(config), "");
  config.second_pass.placement = "own_group";
  expect_told(told(config), "second_pass.placement is own_group");
  config.second_pass.placement = "joins_parent";
  config.sampling.logprob = "kept", config.sampling.top_p = 0.9;
  expect_told(told(config), "sampling.logprob is kept");
  config = refining();
  config.second_pass.buffer = 0.25, config.reward.command = {"./judge"};
  expect_told(told(config), "second_pass.buffer is 0.25, and reward.command is set");
  config.second_pass.buffer = 0.0;
  EXPECT_EQ(told(config), "");
  config = refining();
  config.guide.share = 0.5;
  EXPECT_EQ(told(config), "");
  for (const char* kind : {"error", "pool"}) {
    config.second_pass.kind = kind;
    expect_told(told(config), "guide.share is above 0");
  }
}

TEST(CheckSecondPass, RefusesMendedLinesOfConversations) {
  RunConfig config = refining();
  config.environment.command = {"./world"};
  EXPECT_EQ(told(config), "");
  config.second_pass.kind = "error", config.second_pass.placement = "own_group";
  expect_told(told(config), "the policy talks with an environment");
  config.environment.command.clear(), config.task.name = "key_door";
  expect_told(told(config), "the policy talks with an environment");
  config.task.name = "sorting";
  EXPECT_EQ(told(config), "");
}

TEST(CheckSecondPass, RefusesPoolsOfPromptsWithHelp) {
  RunConfig config;
  config.scheduler.policy = "ghpo";
  config.second_pass.kind = "pool";
  expect_told(told(config), "the scheduler asks prompts again with help");
  config.second_pass.kind = "refinement";
  EXPECT_EQ(told(config), "");
  config.second_pass.kind = "pool", config.scheduler.policy = "uniform";
  EXPECT_EQ(told(config), "");
}

}  // namespace
}  // namespace rollcall::run
