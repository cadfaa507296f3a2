// Lengths of answers and of conversations, as memory, files and prompts are reckoned by them.
#include "sizing/lengths.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcall::sizing {
namespace {

/// A run of answers of 64 tokens, with a command to talk with where `talks`.
RunConfig run_of(bool talks, std::int64_t max_tokens = 0, std::int64_t turn_tokens = 0) {
  RunConfig config;
  config.sampling.max_new_tokens = 64, config.sampling.turn_tokens = turn_tokens;
  config.environment.max_tokens = max_tokens;
  if (talks) config.environment.command = {"./env"};
  return config;
}

TEST(Lengths, ASingleAnswerIsAsLongAsItsSettingWhateverAnEnvironmentWouldMake) {
  for (const std::int64_t prompt : {1, 100, 511, 600})
    EXPECT_EQ(answer_tokens(run_of(false, 300, 8), 512, prompt), 64);
  EXPECT_EQ(least_answer_tokens(run_of(false, 300, 8)), 64);
  EXPECT_EQ(answer_limit_key(run_of(false, 300, 8)), std::string("sampling.max_new_tokens"));
}

TEST(Lengths, AConversationFillsWhatIsLeftOrItsLimit) {
  EXPECT_EQ(answer_tokens(run_of(true), 512, 100), 412);
  EXPECT_EQ(answer_tokens(run_of(true, 300), 512, 100), 300);
  EXPECT_EQ(answer_limit_key(run_of(true, 300)), std::string("environment.max_tokens"));
  RunConfig named = run_of(false);
  named.environment.name = "retry";
  EXPECT_EQ(answer_tokens(named, 512, 100), 412);
}

/// A prompt that leaves less than a turn is found too long, as its sum shows.
TEST(Lengths, AConversationHasRoomForATurn) {
  EXPECT_EQ(least_answer_tokens(run_of(true)), 64);
  EXPECT_EQ(least_answer_tokens(run_of(true, 0, 8)), 8);
  EXPECT_EQ(answer_limit_key(run_of(true, 0, 8)), std::string("sampling.turn_tokens"));
  EXPECT_EQ(answer_tokens(run_of(true, 0, 8), 512, 504), 8);
  EXPECT_GT(505 + answer_tokens(run_of(true, 0, 8), 512, 505), 512);
  for (std::int64_t prompt = 1; prompt <= 504; ++prompt)
    EXPECT_EQ(prompt + answer_tokens(run_of(true, 0, 8), 512, prompt), 512);
}

TEST(Lengths, AnUnknownTaskIsNamed) {
  RunConfig config;
  config.task.name = "sortign";
  EXPECT_THROW((void)answer_tokens(config, 512, 1), ConfigError);
}

}  // namespace
}  // namespace rollcall::sizing
