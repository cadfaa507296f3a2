// PendingSample prompts by difficulty bin: frequencies, stated probabilities, no replacement, and
// what is held.
#include "scheduling/sampler/gdro_resample.hpp"

#include "base/text/json.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace rollcall::scheduling {
namespace {

/// 2 prompts in bin 0, 6 in bin 5, none between; scores 1 and 0.
struct Setting {
  Setting()
      : knowledge({.level = std::vector<std::int32_t>(8, 2), .prior = {0, 0, 1, 1, 1, 1, 1, 1}}, 1),
        sampler(knowledge) {
    knowledge.start();
    sampler.load({{"scores", {1.0, 0.0, 0.0, 0.0, 0.0, 0.0}}});
  }
  // q(0) = 0.99 e / (e + 5) + 0.01 / 6 and q(5) = 0.99 / (e + 5) + 0.01 / 6 with e = exp(0.65),
  // renormalised over the two bins that hold prompts
  static double hard() {
    const double e = std::exp(0.65), a = 0.99 * e / (e + 5) + 0.01 / 6,
                 b = 0.99 / (e + 5) + 0.01 / 6;
    return a / (a + b);
  }
  Knowledge knowledge;
  GdroResample sampler;
};

TEST(GdroResample, FirstDrawsFollowTheProbabilitiesOfNonEmptyBins) {
  Setting s;
  std::vector<double> times(8);
  constexpr int kSteps = 40'000;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const PromptDraw draw = s.sampler.choose({.step = step, .prompts = 1}, {}).front();
    ++times[draw.prompt.value];
    EXPECT_NEAR(draw.probability,
                draw.prompt.value < 2 ? Setting::hard() / 2 : (1 - Setting::hard()) / 6, 1e-12);
  }
  double chi = 0.0;
  for (std::size_t p = 0; p < 8; ++p) {
    const double expected = kSteps * (p < 2 ? Setting::hard() / 2 : (1 - Setting::hard()) / 6);
    chi += (times[p] - expected) * (times[p] - expected) / expected;
  }
  EXPECT_LT(chi, 24.3);  // 7 degrees of freedom: exceeded once in 1,000; the seed is fixed
}

TEST(GdroResample, ShareCorrectedABinIsDrawnByItsPromptsToo) {
  Setting s;
  ConfigSchema schema;
  s.sampler.bind(schema);
  schema.set("draw_by=probability_times_population");
  const double hard = Setting::hard() * 2, easy = (1 - Setting::hard()) * 6;
  int times = 0;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const PromptDraw draw = s.sampler.choose({.step = step, .prompts = 1}, {}).front();
    times += draw.prompt.value < 2;
    EXPECT_NEAR(draw.probability,
                draw.prompt.value < 2 ? hard / (hard + easy) / 2 : easy / (hard + easy) / 6, 1e-12);
  }
  EXPECT_NEAR(times / 20'000.0, hard / (hard + easy), 0.015);  // 5 standard deviations
}

TEST(GdroResample, DrawsWithoutReplacementAndStatesWhatIsLeft) {
  Setting s;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const auto draws = s.sampler.choose({.step = step, .prompts = 8}, {});
    std::set<std::uint64_t> seen;
    double left[2] = {2, 6};
    for (const PromptDraw& d : draws) {
      EXPECT_TRUE(seen.insert(d.prompt.value).second);
      EXPECT_EQ(d.draw, 0U);
      const bool easy = d.prompt.value >= 2;
      const double bin = left[!easy] == 0 ? 1.0 : easy ? 1 - Setting::hard() : Setting::hard();
      EXPECT_NEAR(d.probability, bin / left[easy], 1e-12);
      --left[easy];
    }
    EXPECT_EQ(seen.size(), 8U);
  }
}

TEST(GdroResample, HeldPromptsWaitAndRepeatsAreNumbered) {
  Setting s;
  const auto draws = s.sampler.choose({.step = 1, .prompts = 12}, {{0}, {3}, {3}, {5}, {7}});
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const auto p = draws[i].prompt.value;
    EXPECT_EQ(draws[i].draw, i < 4 ? 0U : 1U);
    EXPECT_TRUE(i >= 4 || (p != 0 && p != 3 && p != 5 && p != 7)) << p;
  }
  std::set<std::pair<std::uint64_t, std::uint32_t>> ids;
  for (const PromptDraw& d : draws) EXPECT_TRUE(ids.emplace(d.prompt.value, d.draw).second);
}

}  // namespace
}  // namespace rollcall::scheduling
