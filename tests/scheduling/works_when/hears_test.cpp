// Does a game listen? At default arms and budget, on bins with known success rates, against itself made deaf: a gain that deafness keeps was never learned.
#include "scheduling/works_when/known_bins.hpp"

#include <gtest/gtest.h>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kSeeds = 2;

std::array<double, 6> mean_played(const KnownBins& world, const std::string& row, const Knobs& knobs) {
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
    const auto deaf = mean_played(world, "rollout_gdro", {{"control", "constant"}}), shuffled = mean_played(world, "rollout_gdro", {{"control", "shuffled"}}),
               hearing = mean_played(world, "rollout_gdro", {});
    const double gap = world.closed(hearing, deaf, informative_worth), without = world.closed(shuffled, deaf, informative_worth);
    const std::string said = "best " + text(world.optimum(informative_worth)) + "\nhearing " + text(hearing) + "\nconstant " + text(deaf) + "\nshuffled " + text(shuffled);
    RecordProperty("gap_closed", std::to_string(gap));
    RecordProperty("gap_closed_by_shuffled", std::to_string(without));
    EXPECT_GT(gap, 0.5) << said;
    EXPECT_LT(without, 0.15) << said;
    for (std::size_t b = 0; b < 6; ++b) EXPECT_NEAR(deaf[b], 4.0, 0.35) << said;
  }
}

TEST(RolloutGdro, InvertedItGoesTheOtherWay) {
  const KnownBins world;
  const auto inverted = world.played("rollout_gdro", {{"control", "inverted"}}, 1), deaf = world.played("rollout_gdro", {{"control", "constant"}}, 1);
  EXPECT_LT(world.closed(inverted, deaf, informative_worth), -0.5);
}

TEST(RolloutGdro, WithTheVarianceProxyItNearsTheSquareRootLaw) {
  const KnownBins world;
  const auto hearing = mean_played(world, "rollout_gdro", {{"arm_signal", "variance_proxy"}}),
             deaf = mean_played(world, "rollout_gdro", {{"arm_signal", "variance_proxy"}, {"control", "constant"}}), oracle = world.played("gdro_sqrt", {}, 1);
  EXPECT_GT(world.closed(hearing, deaf, variance_worth), 0.5) << text(hearing);
  double from = 0.0, to = 0.0;  // mean distance in rollouts a prompt
  for (std::size_t b = 0; b < 6; ++b) from += std::abs(deaf[b] - oracle[b]) / 6, to += std::abs(hearing[b] - oracle[b]) / 6;
  EXPECT_LT(to, 0.5 * from) << text(oracle) << '\n' << text(hearing) << '\n' << text(deaf);
}

}  // namespace
}  // namespace rollcall::scheduling
