// The tracker of a prompt's success: its law by hand, its state, and that everyone who learns from
// the same groups knows the same.
#include "scheduling/prompts/success_tracker.hpp"

#include "base/numbers/random.hpp"
#include "base/text/json.hpp"
#include "scheduling/prompts/knowledge.hpp"
#include "scheduling/sampler/tracked_deviation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace rollcall::scheduling {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

TEST(SuccessTracker, StartsAtThePredictionOrInTheMiddle) {
  // N0 = 1 / (1 - 0.875) = 8 rollouts; 6 of 8 offline give (6 + 0.5) / 9.
  const SuccessTracker predicted(SuccessSection{}, {6.5F / 9, 0.0F}), unknown;
  EXPECT_NEAR(predicted.of({0}).right, 5.7778, 1e-4);
  EXPECT_NEAR(predicted.of({0}).wrong, 2.2222, 1e-4);
  EXPECT_EQ(predicted.of({1}).prior(), 0.0);
  EXPECT_EQ(unknown.of({7}).prior(), 0.5);
  EXPECT_EQ(unknown.of({7}).posterior(), 0.5);
}

TEST(SuccessTracker, PosteriorForgetsNothing) {
  SuccessTracker tracker;
  // whatever the policy did meanwhile
  for (const double r : {1.0, 1.0, 0.0}) tracker.learn({3}, r, 1.0, 10.0);
  EXPECT_EQ(tracker.of({3}).posterior(), 0.6);  // Beta(1, 1) after 1, 1, 0: 3 / 5
}

TEST(SuccessTracker, DriftShortensTheMemoryWithinItsBounds) {
  const auto left = [](double drift) {
    SuccessTracker tracker;
    tracker.learn({0}, 0.0, 1.0, drift);
    return tracker.of({0}).right / 4.0;
  };
  EXPECT_NEAR(left(0.0), 0.96, 1e-15);                // 2^0 = 1, at most memory_max
  EXPECT_NEAR(left(0.06), 0.875, 1e-15);              // 1/2, at least memory_min
  EXPECT_NEAR(left(0.009), std::exp2(-0.15), 1e-15);  // 0.9013, between them
  EXPECT_NEAR(left(kUnknown), 0.96, 1e-15);           // nothing to measure it on
}

TEST(SuccessTracker, StateGoesThroughJson) {
  SuccessTracker tracker(SuccessSection{}, {0.2F, 0.7F}), copy(SuccessSection{}, {0.2F, 0.7F});
  tracker.learn({1}, 2.0, 3.0, 0.01);
  tracker.learn({1}, 0.0, 3.0, 0.03);
  copy.learn({0}, 1.0, 1.0);
  copy.load(nlohmann::json::parse(tracker.save().dump()));
  EXPECT_EQ(copy.save().dump(), tracker.save().dump());
  EXPECT_EQ(copy.of({0}).prior(), tracker.of({0}).prior());
}

RC_GTEST_PROP(SuccessTracker, SamplerKnowsWhatTheTrackerKnows, ()) {
  PromptTable table{.level = {0, 0, 0},
                    .prior = {0.1F, 0.5F, 0.9F},
                    .law = {.memory_min = 0.5, .memory_max = 0.9, .drift_half = 0.2}};
  SuccessTracker tracker(table.law, table.prior);
  Knowledge knowledge(table, 1);
  TrackedDeviationSampler sampler(knowledge);
  for (int i = 0; i < 20; ++i) {
    GroupReport report{
        .id = {.step = std::uint64_t(i), .prompt = {std::uint64_t(*rc::gen::inRange(0, 3))}}};
    const int n = *rc::gen::inRange(1, 5);
    // a reward is no success
    for (int k = 0; k < n; ++k)
      report.rewards.push_back(2.0),
          report.correct.push_back(std::uint8_t(*rc::gen::inRange(0, 2)));
    report.drift = *rc::gen::element(kUnknown, 0.0, 0.01, 0.1, 5.0);
    sampler.learn({report});
    tracker.learn(report.id.prompt,
                  double(std::count(report.correct.begin(), report.correct.end(), 1)), n,
                  report.drift);
  }
  for (const std::uint64_t p : {0, 1, 2})
    RC_ASSERT(sampler.tracked({p}).prior() == tracker.of({p}).prior());
}

/// What the tracker is told: the results of the prompt and the drift since its last answer, or
/// those of another prompt or visit.
struct Told {
  bool results = true, drift = true;
};
struct Moving {
  SuccessSection law;
  double often;  ///< share of the visits at which the policy has moved
};

/// Mean squared error of the prediction over 64 prompts and 40 visits of 4 rollouts. Rates lie
/// between 0.05 and 0.95 and are drawn anew when the policy has moved; elsewhere it stands still.
double error_of_prediction(const Moving& moving, const Told& told) {
  constexpr std::uint64_t kPrompts = 64, kVisits = 40, kRollouts = 4;
  const RandomStream world(5, RandomPurpose::test), other(6, RandomPurpose::test);
  const auto moved = [&](std::uint64_t visit) { return world.uniform(visit) < moving.often; };
  const auto rate = [&](std::uint64_t visit, std::uint64_t prompt) {
    while (visit > 0 && !moved(visit)) --visit;
    return 0.05 + 0.9 * world.uniform(1'000 + visit * kPrompts + prompt);
  };
  SuccessTracker tracker(moving.law);
  double sum = 0.0;
  for (std::uint64_t visit = 0; visit < kVisits; ++visit) {
    for (std::uint64_t prompt = 0; prompt < kPrompts; ++prompt) {
      const double p = rate(visit, prompt);
      const std::uint64_t shown =
          told.results ? prompt : other.below(visit * kPrompts + prompt, kPrompts);
      double correct = 0.0;
      for (std::uint64_t k = 0; k < kRollouts; ++k)
        correct +=
            world.uniform(100'000 + (visit * kPrompts + shown) * kRollouts + k) < rate(visit, shown)
                ? 1.0
                : 0.0;
      const bool measured =
          told.drift ? moved(visit) : other.uniform(100'000 + visit) < moving.often;
      tracker.learn({prompt}, correct, kRollouts, measured ? 0.5 : 0.0);
      sum += (tracker.of({prompt}).prior() - p) * (tracker.of({prompt}).prior() - p);
    }
  }
  return sum / double(kPrompts * kVisits);
}

TEST(SuccessTracker, KnowsMoreThanOneThatIsToldOtherPromptsResults) {
  const double variance = 0.81 / 12;  // of the rates: the error of a constant
  for (const auto& [moving, better] :
       {std::pair(Moving{{.memory_min = 0.2, .memory_max = 0.98}, 0.25}, 0.8),
        std::pair(Moving{{}, 0.04}, 1.0)}) {
    const double knows = error_of_prediction(moving, {}),
                 deaf = error_of_prediction(moving, {.results = false}),
                 forgets_blindly = error_of_prediction(moving, {.drift = false});
    EXPECT_LT(knows, 0.5 * variance);
    EXPECT_GT(deaf, 0.95 * variance);
    EXPECT_LT(knows, better * forgets_blindly);
  }
}

}  // namespace
}  // namespace rollcall::scheduling
