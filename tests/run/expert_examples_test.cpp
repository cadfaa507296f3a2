// What a warm start learns of an environment's expert: the tokens that a policy which says the same
// would have sampled and read.
#include "run/context/examples/expert_examples.hpp"

#include "driven.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>

namespace rollcall::run::test {
namespace {

using Tokens = std::vector<std::int32_t>;

class ExpertExample : public ::testing::Test {
 protected:
  RunContext job(std::vector<std::string> more = {}) {
    more.emplace_back("task.name=key_door");
    return driven_job(folder_.path(), 1, more);
  }

 private:
  io::test::RunFolder folder_;
};

environment::ExpertWay made_way() {
  return {.states = {"a", "b"}, .actions = {"up", "left"}, .said = {"..k>", ""}, .ends = true};
}

TEST_F(ExpertExample, IsWhatASampledConversationWouldBe) {
  const RunContext context = job();
  const RunTexts& texts = context.texts;
  const Prompt& prompt = texts.prompts.train.front();
  const auto example = expert_example(texts, prompt, made_way(), 256);
  Tokens expected = texts.format->prompt_tokens(prompt);
  ASSERT_EQ(example.learnt.size(), 2U);
  EXPECT_EQ(example.learnt[0].first, std::int64_t(expected.size()));
  const auto say = [&](const char* word) {
    Tokens turn = texts.tokenizer->encode(word);
    turn.push_back(texts.tokenizer->eos());
    expected.insert(expected.end(), turn.begin(), turn.end());
    return turn;
  };
  const Tokens first = say("up");
  const text::Said said{texts.turns->role(), "..k>"};
  const Tokens told = texts.turns->between(first, std::span(&said, 1));
  expected.insert(expected.end(), told.begin(), told.end());
  EXPECT_EQ(example.learnt[0].second, example.learnt[1].first - std::int64_t(told.size()));
  say("left");
  EXPECT_EQ(example.tokens, expected);
  EXPECT_EQ(example.learnt[1].second, std::int64_t(expected.size()));
}

TEST_F(ExpertExample, LeavesOutTurnsWithoutRoom) {
  const RunContext context = job();
  const Prompt& prompt = context.texts.prompts.train.front();
  const auto whole = expert_example(context.texts, prompt, made_way(), 256);
  const auto size = std::int64_t(whole.tokens.size());
  EXPECT_EQ(expert_example(context.texts, prompt, made_way(), size).tokens, whole.tokens);
  const auto shorter = expert_example(context.texts, prompt, made_way(), size - 1);
  EXPECT_EQ(shorter.learnt.size(), 1U);
  EXPECT_EQ(std::int64_t(shorter.tokens.size()), whole.learnt[0].second);
}

TEST_F(ExpertExample, ARunLearnsTheWholeWayAndOneTurnIsTheSolution) {
  const RunContext whole = job({"sft.steps=1"}), first = job({"sft.steps=1", "sft.turns=1"});
  ASSERT_EQ(whole.texts.examples.size(), whole.texts.prompts.train.size());
  EXPECT_EQ(whole.texts.prompts.hash, first.texts.prompts.hash);
  std::size_t turns = 0;
  for (std::size_t i = 0; i < whole.texts.examples.size(); ++i) {
    const Prompt& prompt = first.texts.prompts.train[i];
    const auto solution = first.texts.format->supervised(prompt, prompt.solution);
    EXPECT_EQ(first.texts.examples[i].tokens, solution.tokens);
    EXPECT_EQ(first.texts.examples[i].learnt, solution.learnt);
    const auto& tokens = whole.texts.examples[i].tokens;
    ASSERT_GE(tokens.size(), solution.tokens.size());
    EXPECT_TRUE(std::equal(solution.tokens.begin(), solution.tokens.end(), tokens.begin()));
    turns += whole.texts.examples[i].learnt.size();
  }
  EXPECT_GT(turns, 2 * whole.texts.examples.size()) << "a key, a door and a goal";
}

}  // namespace
}  // namespace rollcall::run::test
