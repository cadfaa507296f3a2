// Thoughts are emptied wherever a conversation has them, and nothing else.
#include "run/context/examples/thought_dropout.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

RunConfig with_share(double share) {
  RunConfig config;
  config.sft.thought_dropout = share;
  return config;
}

TEST(ThoughtDropout, EmptiesThoughtsInTheTextAndUnderTheirOwnKey) {
  const auto talk = text::parse_in_order(R"([{"role": "user", "content": "<think>q</think>"},
    {"role": "assistant", "content": "<think>t</think>a", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
    {"role": "assistant", "content": [{"type": "text", "text": "<think>t</think>b"}], "reasoning_content": "r"}])",
                                         "the test");
  ThoughtDropout none(with_share(0.0)), all(with_share(1.0));
  EXPECT_EQ(nlohmann::ordered_json(none.conversation(0, {{talk.begin(), talk.end()}}).messages),
            talk);
  auto expected = talk;
  expected[1]["content"] = "<think></think>a",
  expected[2]["content"][0]["text"] = "<think></think>b", expected[2]["reasoning_content"] = "";
  EXPECT_EQ(nlohmann::ordered_json(all.conversation(0, {{talk.begin(), talk.end()}}).messages),
            expected);
  EXPECT_NO_THROW(all.check());
}

TEST(ThoughtDropout, AThoughtUnderItsOwnKeyIsOne) {
  ThoughtDropout all(with_share(1.0));
  all.conversation(0, {{text::message("assistant", "a")}});
  EXPECT_THROW(all.check(), ConfigError);
  auto said = text::message("assistant", "a");
  said["reasoning_content"] = "r";
  all.conversation(0, {{said}});
  EXPECT_NO_THROW(all.check());
}

}  // namespace
}  // namespace rollcall::run
