// Code that is slow holds up its own shard alone, and what a verdict throws comes out where shards
// are taken.
#include "run/scoring/code_scoring.hpp"

#include "base/errors/error.hpp"
#include "reward/graders.hpp"
#include "run/context/run_context.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace rollcall::run {
namespace {

std::atomic<bool> is_open = false, is_waiting = false;

void open_gate() {
  is_open = true;
  is_open.notify_all();
}

/// "wait" is judged once the gate is open, "throw" never; "right" is right.
Score judged(const Prompt&, const reward::Response& response) {
  if (response.text == "wait") {
    is_waiting = true;
    is_open.wait(false);
  }
  if (response.text == "throw") throw InputError("a reference of no use");
  const bool correct = response.text == "right";
  Score score{.components = {double(correct), 1.0}, .correct = correct};
  score.clock_ended = response.text == "late";
  return score;
}

const reward::Verifier kVerifier{"slow",  "of these tests", {"correct", "format"},
                                 "whole", nullptr,          judged};

struct Sandboxed {
  RunContext context;
  RepeatedVerdicts none;
  // nothing is repeated for rules
  Sandboxed() : context(made()), none(context.run_dir, *context.grading.grader) {
    context.grading.grader.emplace(kVerifier, TaskSection{});
  }
  VerdictSources sources() const { return {&context.texts, &context.grading, &none}; }
  static RunContext made() {
    RunContext context;
    context.grading.grader.emplace(reward::find_verifier("exact_match"), TaskSection{});
    context.threads.pool = std::make_unique<WorkerPool>(1);
    context.texts.forms = {&text::find_answer_form("plain")};
    context.texts.prompts.train.push_back(
        {.id = {}, .level = 1, .text = "?", .answer = "1", .solution = {}});
    return context;
  }
};

RolloutShard shard(std::uint64_t step, const std::vector<std::string>& texts) {
  RolloutShard shard;
  shard.step = step;
  Group group{.id = {step, {0}, 0}, .level = 1, .rollouts = {}};
  for (const auto& text : texts) {
    Rollout& rollout = group.rollouts.emplace_back();
    rollout.sample = std::uint32_t(group.rollouts.size() - 1), rollout.finish = FinishReason::stop,
    rollout.text = text;
  }
  shard.groups.push_back(group);
  return shard;
}

GradedShard awaited(CodeScoring& scoring) {
  for (int ms = 0; ms < 20000; ++ms) {
    if (auto judged = scoring.take()) return std::move(*judged);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  open_gate();  // so that the threads end
  throw std::runtime_error("no shard is whole after 20 s");
}

TEST(CodeScoring, SlowCodeHoldsUpItsOwnShardAlone) {
  Sandboxed s;
  CodeScoring scoring(s.sources(), *s.context.threads.pool, 2);
  scoring.add({}, shard(1, {"wait", "right", "wrong"}), 0.0);
  scoring.add({}, shard(2, {"wrong", "right", "late", "right"}), 0.0);
  scoring.add({}, shard(3, {}), 0.0);
  for (int later = 0; later < 2; ++later)
    EXPECT_GT(awaited(scoring).shard.step, 1U) << "the first waits for the gate";
  EXPECT_FALSE(scoring.take().has_value());
  EXPECT_TRUE(scoring.is_judging());
  while (!is_waiting) std::this_thread::yield();  // so that it is the slowest
  open_gate();
  const GradedShard first = awaited(scoring);
  EXPECT_FALSE(scoring.is_judging());
  EXPECT_EQ(first.shard.step, 1U);
  ASSERT_EQ(first.scores.scores.at(0).size(), 3U);
  EXPECT_EQ(first.facts.seconds.size(), 3U);
  const std::vector<bool> correct{first.scores.scores[0][0].correct,
                                  first.scores.scores[0][1].correct,
                                  first.scores.scores[0][2].correct};
  EXPECT_EQ(correct, (std::vector<bool>{false, true, false}))
      << "each verdict in its rollout's place";
  EXPECT_EQ(first.facts.slowest.at(0).sample, "train/1/0/0/0");
}

TEST(CodeScoring, WhatIsGivenUpIsNotJudgedAnyFurther) {
  is_open = false, is_waiting = false;
  Sandboxed s;
  CodeScoring scoring(s.sources(), *s.context.threads.pool, 1);
  ShardNotice first;
  first.generation_s[3] = 1.5;
  scoring.add(first, shard(1, {"wait", "throw"}), 0.0);
  scoring.add({}, shard(2, {"throw"}), 0.0);
  while (!is_waiting) std::this_thread::yield();
  const std::jthread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open_gate();
  });
  const auto notices = scoring.give_up();
  EXPECT_TRUE(is_open) << "the program that runs is waited for";
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].generation_s, first.generation_s);
  EXPECT_FALSE(scoring.is_judging());
}

TEST(CodeScoring, TellsWhatAVerdictThrew) {
  Sandboxed s;
  CodeScoring scoring(s.sources(), *s.context.threads.pool, 2);
  scoring.add({}, shard(1, {"right", "throw", "right"}), 0.0);
  EXPECT_THROW(awaited(scoring), InputError);
}

}  // namespace
}  // namespace rollcall::run
