// The square-root allocator: hand-worked counts, learning in the right direction, nobody starves.
#include "scheduling/allocator/square_root.hpp"
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/prompts/success_estimate.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::scheduling {
namespace {

GroupReport report(std::uint64_t step, std::uint64_t prompt, std::int32_t level, int right,
                   int wrong) {
  GroupReport r = no_results({step, {prompt}, 0}, level);
  r.correct.assign(std::size_t(right), 1);
  r.correct.insert(r.correct.end(), std::size_t(wrong), 0);
  return r;
}

TEST(SuccessEstimate, KeepsOneEntryAPromptHoweverLongItLearns) {
  EstimateKnobs knobs;
  SuccessEstimate e(knobs);
  for (std::uint64_t step = 1; step <= 2000; ++step)
    e.learn({report(step, step % 10, std::int32_t(step % 3), 1, 1)});
  EXPECT_EQ(e.save().at("prompts").size(), 10U);
  EXPECT_EQ(e.save().at("levels").size(), 3U);
}

TEST(SuccessEstimate, HandWorked) {
  EstimateKnobs knobs;  // prior 0.5 worth 4; level memory 0.9; prompt memory 0.99; level worth 8
  SuccessEstimate e(knobs);
  EXPECT_DOUBLE_EQ(e.success(0, {1}, 5), 0.5);
  e.learn({report(10, 1, 5, 6, 2)});
  const double level = (4 * 0.5 + 6) / (4 + 8.0);  // 2/3
  EXPECT_DOUBLE_EQ(e.success(10, {2}, 5), level);
  EXPECT_DOUBLE_EQ(e.success(10, {1}, 5), (8 * level + 6) / (8 + 8.0));
  EXPECT_DOUBLE_EQ(e.success(10, {1}, 6), (8 * 0.5 + 6) / (8 + 8.0));
  const double faded = (2 + 6 * 0.81) / (4 + 8 * 0.81);
  EXPECT_DOUBLE_EQ(e.success(12, {2}, 5), faded);
  const double own = std::pow(0.99, 2);
  EXPECT_DOUBLE_EQ(e.success(12, {1}, 5), (8 * faded + 6 * own) / (8 + 8 * own));
  EXPECT_NEAR(e.success(100000, {1}, 5), 0.5, 1e-12);  // everything faded: back at the prior
}

TEST(SuccessEstimate, KeepsOnlySeenPrompts) {
  EstimateKnobs knobs;
  SuccessEstimate e(knobs);
  e.learn({report(0, 1000000, 2, 1, 1), report(0, 7, 2, 0, 2)});
  EXPECT_EQ(e.save().at("prompts").size(), 2U);
}

StepRequest request(std::uint64_t step, std::int64_t prompts, std::int64_t budget) {
  return {step, prompts, budget, 1, 64};
}

TEST(SquareRootAllocator, CountsFollowTheSquareRootOfTheVariance) {
  Knowledge known({.level = {2, 3, 2, 3, 2, 2, 3}}, 1);
  SquareRootAllocator a(known);
  ConfigSchema knobs;
  known.bind(knobs);
  a.bind(knobs);
  knobs.set("prior_strength=0.001");  // so that the rates below are met to three digits
  knobs.set("level_strength=1e9");    // and prompts say nothing of their own
  known.learn({report(0, 0, 2, 500, 500), report(0, 1, 3, 20, 980)});
  // sqrt(0.25) = 0.5 and sqrt(0.02 * 0.98) = 0.14: 50 and 14 of 64.
  const std::vector<GroupPlan> groups = {{.id = {0, {5}, 0}, .level = 2},
                                         {.id = {0, {6}, 0}, .level = 3}};
  EXPECT_EQ(a.counts(request(0, 2, 64), groups), (std::vector<std::int64_t>{50, 14}));
}

TEST(SquareRootAllocator, UnseenPromptsShareEquallyAndHopelessOnesAreNotStarved) {
  Knowledge known({.level = {2, 3, 4}}, 1);
  SquareRootAllocator a(known);
  const std::vector<GroupPlan> groups = {{.id = {1, {0}, 0}, .level = 2},
                                         {.id = {1, {1}, 0}, .level = 3},
                                         {.id = {1, {2}, 0}, .level = 4}};
  EXPECT_EQ(a.counts(request(1, 3, 24), groups), (std::vector<std::int64_t>{8, 8, 8}));
  for (std::uint64_t step = 1; step < 60; ++step)
    known.learn({report(step, 0, 2, 32, 0), report(step, 1, 3, 16, 16), report(step, 2, 4, 0, 32)});
  // Weights 0.1 (floor), 0.5, 0.1 of a sum of 0.7: quotas 10, 50, 10.
  EXPECT_EQ(a.counts(request(60, 3, 70), groups), (std::vector<std::int64_t>{10, 50, 10}));
}

TEST(SquareRootAllocator, RefusesKnobsOutOfRange) {
  Knowledge known({.level = {2, 3, 2, 3, 2, 2, 3}}, 1);
  SquareRootAllocator a(known);
  ConfigSchema knobs;
  known.bind(knobs);
  a.bind(knobs);
  EXPECT_THROW(knobs.set("level_decay=1.5"), ConfigError);
  EXPECT_THROW(knobs.set("variance_floor=0"), ConfigError);
  EXPECT_THROW(knobs.set("level_decai=0.5"), ConfigError);
}

}  // namespace
}  // namespace rollcall::scheduling
