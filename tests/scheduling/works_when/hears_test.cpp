// Does a game listen? At default arms and budget, on bins with known success rates, against itself
// made deaf: a gain that deafness keeps was never learned.
#include "scheduling/works_when/known_bins.hpp"

#include <gtest/gtest.h>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kSeeds = 2;

std::array<double, 6> mean_played(const KnownBins& world, const std::string& row,
                                  const Knobs& knobs) {
  std::array<double, 6> mean{};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto counts = world.played(row, knobs, seed);
    for (std::size_t b = 0; b < 6; ++b) mean[b] += counts[b] / double(kSeeds);
  }
  return mean;
}

std::string text(const std::array<double, 6>& counts) {
  std::string all;
  for (const double n : counts) all += std::to_string(n).substr(0, 5) + ' ';
  return all;
}

TEST(RolloutGdro, HearsWhichBinsLearnFromMoreRollouts) {
  for (const KnownBins& world : {KnownBins{}, KnownBins{{0.02, 0.05, 0.1, 0.2, 0.3, 0.5}}}) {
    const auto deaf = mean_played(world, "rollout_gdro", {{"control", "constant"}}),
               shuffled = mean_played(world, "rollout_gdro", {{"control", "shuffled"}}),
               hearing = mean_played(world, "rollout_gdro", {});
    const double gap = world.closed(hearing, deaf, informative_worth),
                 without = world.closed(shuffled, deaf, informative_worth);
    const std::string said = "best " + text(world.optimum(informative_worth)) + "\nhearing " +
                             text(hearing) + "\nconstant " + text(deaf) + "\nshuffled " +
                             text(shuffled);
    RecordProperty("gap_closed", std::to_string(gap));
    RecordProperty("gap_closed_by_shuffled", std::to_string(without));
    EXPECT_GT(gap, 0.5) << said;
    EXPECT_LT(without, 0.15) << said;
    for (std::size_t b = 0; b < 6; ++b) EXPECT_NEAR(deaf[b], 4.0, 0.35) << said;
  }
}

TEST(RolloutGdro, InvertedItGoesTheOtherWay) {
  const KnownBins world;
  const auto inverted = world.played("rollout_gdro", {{"control", "inverted"}}, 1),
             deaf = world.played("rollout_gdro", {{"control", "constant"}}, 1);
  EXPECT_LT(world.closed(inverted, deaf, informative_worth), -0.5);
}

TEST(RolloutGdro, WithTheVarianceProxyItNearsTheSquareRootLaw) {
  const KnownBins world;
  const auto hearing = mean_played(world, "rollout_gdro", {{"arm_signal", "variance_proxy"}}),
             deaf = mean_played(world, "rollout_gdro",
                                {{"arm_signal", "variance_proxy"}, {"control", "constant"}}),
             oracle = world.played("gdro_sqrt", {}, 1);
  EXPECT_GT(world.closed(hearing, deaf, variance_worth), 0.5) << text(hearing);
  double from = 0.0, to = 0.0;  // mean distance in rollouts a prompt
  for (std::size_t b = 0; b < 6; ++b)
    from += std::abs(deaf[b] - oracle[b]) / 6, to += std::abs(hearing[b] - oracle[b]) / 6;
  EXPECT_LT(to, 0.5 * from) << text(oracle) << '\n' << text(hearing) << '\n' << text(deaf);
}

/// Weight of the hardest bin's advantages over that of the easiest, after 100 steps in which both
/// failed at the given rates.
double worst_over_best(double worst, double best, const Knobs& knobs) {
  const auto policy = make_scheduler({"gdro_reweight"}, knobs,
                                     table_of({0.0F, 0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F}), 1);
  for (std::uint64_t step = 0; step < 100; ++step) {
    std::vector<GroupReport> reports;
    for (std::uint64_t p = 0; p < 8; ++p) {
      GroupReport r = no_results({step, {p}, 0}, 2);
      const RandomStream random(1, RandomPurpose::test, step, p);
      for (std::uint32_t s = 0; s < 16; ++s)
        r.rewards.push_back(random.uniform(s) < (p < 4 ? worst : best) ? 0.0 : 1.0);
      r.correct.assign(16, p >= 4);  // every prompt stays in its bin
      reports.push_back(std::move(r));
    }
    policy->end_step(reports);
  }
  return policy->weight({0}) / policy->weight({4});
}

TEST(PromptGdro, TheWorstBinsWeightGrowsWithItsFailure) {
  // exp(eta (f_worst - f_best)) with eta 0.65: 1.76 for 0.95 and 0.08, 1.31 for 0.5; deaf it is 1
  // whatever fails.
  EXPECT_NEAR(worst_over_best(0.95, 0.08, {}), 1.76, 0.06);
  EXPECT_NEAR(worst_over_best(0.50, 0.08, {}), 1.31, 0.06);
  EXPECT_NEAR(worst_over_best(0.95, 0.08, {{"control", "inverted"}}), 1 / 1.76, 0.03);
  EXPECT_EQ(worst_over_best(0.95, 0.08, {{"control", "constant"}}), 1.0);
  EXPECT_NEAR(worst_over_best(0.95, 0.08, {{"control", "shuffled"}}), 1.0, 0.06);
}

/// Share of the worst bin among the prompts of the second half of 200 steps of 16 prompts, two bins
/// of equal size.
double share_of_worst(const Knobs& knobs) {
  std::vector<float> prior(400, 0.0F);
  std::fill(prior.begin() + 200, prior.end(), 1.0F);
  const auto policy = make_scheduler({"gdro_resample"}, knobs, table_of(prior), 1);
  double worst = 0.0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const auto played = play(
        *policy, {.step = step, .prompts = 16, .budget = 64, .min_rollouts = 4, .max_rollouts = 4},
        [](const GroupPlan& g, std::uint32_t) { return g.id.prompt.value >= 200; });
    for (const auto& r : played.reports) worst += step >= 100 && r.id.prompt.value < 200;
  }
  return worst / 1600;
}

TEST(PromptGdro, ResamplingDrawsTheWorstBinMoreOften) {
  // q ~ exp(0.65 S): scores of 1 and 0 give 1.92 : 1, less 1 % of exploration over six bins.
  EXPECT_NEAR(share_of_worst({}), 0.655, 0.04);
  EXPECT_NEAR(share_of_worst({{"control", "constant"}}), 0.5, 0.04);
  EXPECT_NEAR(share_of_worst({{"control", "shuffled"}}), 0.5, 0.04);
  EXPECT_NEAR(share_of_worst({{"control", "inverted"}}), 0.345, 0.04);
}

}  // namespace
}  // namespace rollcall::scheduling
