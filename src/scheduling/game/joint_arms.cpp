// best[s] is the highest score with which the first bins together spend s rollouts above their
// minimum.
#include "scheduling/game/joint_arms.hpp"

#include <cmath>
#include <limits>
#include <tuple>

namespace rollcall::scheduling {
namespace {

constexpr double kUnreachable = -std::numeric_limits<double>::infinity();

// Adds one bin: the best score of every sum, and in `choice` the arm that reaches it.
std::vector<double> extend(const std::vector<double>& best, const BinArms& bin,
                           const std::vector<std::int64_t>& count,
                           std::vector<std::uint8_t>& choice) {
  const auto widest = std::size_t(bin.prompts * (count.back() - count.front()));
  std::vector<double> next(best.size() + widest, kUnreachable);
  choice.assign(next.size(), 0);
  for (std::size_t a = 0; a < count.size(); ++a) {
    const double score = bin.score[a];
    double* to = next.data() + bin.prompts * (count[a] - count.front());
    std::uint8_t* by = choice.data() + (to - next.data());
    for (std::size_t s = 0; s < best.size(); ++s) {
      const double with = best[s] + score;
      const bool better = with > to[s];
      to[s] = better ? with : to[s];
      by[s] = better ? std::uint8_t(a) : by[s];
    }
  }
  return next;
}

}  // namespace

JointArms most_probable_arms(const std::vector<BinArms>& bins,
                             const std::vector<std::int64_t>& count, std::int64_t budget) {
  std::int64_t least = 0;
  std::vector<double> best = {0.0};
  std::vector<std::vector<std::uint8_t>> choice(bins.size());
  for (std::size_t b = 0; b < bins.size(); ++b) {
    least += bins[b].prompts * count.front();
    best = extend(best, bins[b], count, choice[b]);
  }
  const auto worse = [&](std::size_t s) {
    return std::tuple(std::abs(least + std::int64_t(s) - budget), -best[s], s);
  };
  std::size_t sum = 0;  // this sum is reachable, with every bin at its smallest arm
  for (std::size_t s = 1; s < best.size(); ++s) {
    if (best[s] > kUnreachable && worse(s) < worse(sum)) sum = s;
  }
  JointArms joint{std::vector<std::size_t>(bins.size()), least + std::int64_t(sum)};
  for (std::size_t b = bins.size(); b-- > 0;) {
    joint.arm[b] = choice[b][sum];
    sum -= std::size_t(bins[b].prompts * (count[joint.arm[b]] - count.front()));
  }
  return joint;
}

}  // namespace rollcall::scheduling
