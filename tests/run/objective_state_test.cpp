// What an objective remembers between steps: shortest correct answers, success, moving statistics,
// and all of it through JSON with their bits.
#include "run/step/objective_state.hpp"

#include "base/errors/error.hpp"
#include "run/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace rollcall::run {
namespace {

/// An answer of so many policy tokens behind a prompt of two.
Rollout answer(std::size_t tokens) {
  const std::vector<float> one(tokens, -1.0F);
  return {.sample = 0,
          .finish = FinishReason::stop,
          .turns = {{.role = Role::prompt, .tokens = {1, 5}},
                    {.role = Role::policy,
                     .tokens = std::vector<std::int32_t>(tokens, 7),
                     .columns = {.logprob = one, .entropy = one},
                     .policy_version = std::vector<std::uint64_t>(tokens, 0)}},
          .text = ""};
}

struct Try {
  std::size_t tokens;
  bool correct;
};

/// One group a prompt: prompt 0, 1, ...
StepBatch step_of(const std::vector<std::vector<Try>>& prompts) {
  StepBatch batch;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    batch.groups.push_back({.id = {1, {p}, 0}, .level = 1, .rollouts = {}});
    batch.scores.emplace_back();
    for (const auto& [tokens, correct] : prompts[p]) {
      batch.groups.back().rollouts.push_back(answer(tokens));
      batch.scores.back().push_back(
          {.components = {}, .reward = correct ? 1.0 : 0.0, .correct = correct, .answer = ""});
    }
  }
  return batch;
}

TEST(ObjectiveState, KeepsEachPromptsShortestCorrectAnswer) {
  ObjectiveState state;
  EXPECT_EQ(state.best(PromptId{0}), 0);  // never asked
  state.learn(step_of({{{9, true}, {4, true}, {2, false}}, {{3, false}}}), {});
  EXPECT_EQ(state.best(PromptId{0}), 4);  // in policy tokens; the wrong answer of 2 does not count
  EXPECT_EQ(state.best(PromptId{1}), 0);  // asked, never solved
  state.learn(step_of({{{6, true}}, {{8, true}}}), {});
  EXPECT_EQ(state.best(PromptId{0}), 4);  // longer than before
  EXPECT_EQ(state.best(PromptId{1}), 8);
  state.learn(step_of({{{3, true}}, {}}), {});
  EXPECT_EQ(state.best(PromptId{0}), 3);
  EXPECT_EQ(state.best(PromptId{1}), 8);  // not asked this time
  EXPECT_EQ(state.best(PromptId{7}), 0);
}

TEST(ObjectiveState, SuccessIsWhatTheVerifierAccepts) {
  ObjectiveState state;
  StepBatch step = step_of({{{9, true}, {4, false}, {2, false}}, {}});
  for (auto& score : step.scores[0])
    score.reward = 0.5;  // as a format component gives: a reward
                         // is no success
  state.learn(step, {0.0, 0.0});
  const auto counts = state.success.of(PromptId{0});
  EXPECT_EQ(counts.solved, 1.0);
  EXPECT_EQ(counts.seen, 3.0);
  EXPECT_NEAR(counts.right, 0.96 * 4 + 1, 1e-12);  // 8 rollouts' worth of 1/2, of which a drift of
                                                   // 0 keeps memory_max
  EXPECT_NEAR(counts.wrong, 0.96 * 4 + 2, 1e-12);
  EXPECT_EQ(state.success.of(PromptId{1}).seen, 0.0);
}

TEST(ObjectiveState, ComesBackFromJsonWithItsBits) {
  EXPECT_TRUE(rc::check([] {
    ObjectiveState state;
    state.statistics = {{"reward_mean", *rc::gen::arbitrary<double>()},
                        {"kl_coef", 0.1 + *rc::gen::arbitrary<double>()},
                        {"tiny", 5e-324}};
    for (auto& [name, value] : state.statistics) value = std::isfinite(value) ? value : 0.1;
    for (int step = *rc::gen::inRange(0, 4); step > 0; --step)
      state.learn(random_batch(std::uint64_t(step), 6), {});
    ObjectiveState back;
    back.restore(state.to_json(), "test");
    RC_ASSERT(back.statistics == state.statistics);
    RC_ASSERT(back.best_length == state.best_length);
    RC_ASSERT(back.to_json() == state.to_json());
  }));
}

TEST(ObjectiveState, RefusesWhatIsNoStateByName) {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      ObjectiveState().restore(text, "train_000007/objective.json");
    } catch (const StorageError& e) {
      return e.what();
    }
    return "accepted";
  };
  for (const auto* text : {"", "{", "[]", R"({"format_number": 2})",
                           R"({"format_number": 1, "statistics": {}, "prompts": []})"}) {
    EXPECT_NE(problem(text).find("train_000007/objective.json"), std::string::npos)
        << text << ": " << problem(text);
  }
}

}  // namespace
}  // namespace rollcall::run
