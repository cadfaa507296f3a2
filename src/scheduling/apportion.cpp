// Bounded largest-remainder apportionment: real quotas by water-filling, then whole numbers by
// largest remainder.
#include "base/errors/error.hpp"
#include "scheduling/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace rollcall::scheduling {
namespace {

// Weights below this share of the largest get nothing until the larger ones are full, so that no
// product of a scale and a weight exceeds the range of a double.
constexpr double kNegligible = 1e-200;

void check(const std::vector<double>& weight, std::int64_t total, std::int64_t low,
           std::int64_t high) {
  for (std::size_t i = 0; i < weight.size(); ++i) {
    require<NumericsError>(std::isfinite(weight[i]) && weight[i] >= 0,
                           fmt::format("weight {} of a budget is {}", i, weight[i]),
                           "shares need finite weights of at least zero",
                           "look for a non-finite reward or knob");
  }
  check_budget(std::int64_t(weight.size()), total, low, high);
}

// The real counts clip(scale * share, low, high), as whole parts and remainders.
struct Quotas {
  std::vector<std::int64_t> whole;
  std::vector<double> remainder;  // [0, 1)

  Quotas(const std::vector<double>& share, double scale, std::int64_t low, std::int64_t high)
      : whole(share.size()), remainder(share.size()) {
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double q = std::clamp(scale * share[i], double(low), double(high));
      whole[i] = std::int64_t(q);
      remainder[i] = q - double(whole[i]);
    }
  }
  std::int64_t left(std::int64_t total) const {
    return total - std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
  }
};

// Whether the quotas of this scale fit into the total. Whole parts are summed exactly, and
// remainders separately, so a scale that fits never gives out more than the total.
bool fit(const std::vector<double>& share, double scale, std::int64_t total, std::int64_t low,
         std::int64_t high) {
  double remainder = 0.0;
  for (const double s : share) {
    const double q = std::clamp(scale * s, double(low), double(high));
    const auto whole = std::int64_t(q);
    total -= whole;
    remainder += q - double(whole);
  }
  return remainder <= double(total);
}

// The largest scale with quotas that fit into `total`, found by bisection over the bit patterns of
// the non-negative doubles, which are ordered like the numbers.
double water_level(const std::vector<double>& share, std::int64_t total, std::int64_t low,
                   std::int64_t high) {
  const auto fits = [&](std::uint64_t bits) {
    return fit(share, std::bit_cast<double>(bits), total, low, high);
  };
  std::uint64_t below = 0, above = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
  if (fits(above)) return std::bit_cast<double>(above);
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (fits(middle) ? below : above) = middle;
  }
  return std::bit_cast<double>(below);
}

// Gives out the rest after the whole parts, one unit at a time, by largest remainder, then by
// share, then by index.
void hand_out(Quotas& quotas, const std::vector<double>& share, std::int64_t left,
              std::int64_t high) {
  std::vector<std::size_t> order(quotas.whole.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(quotas.remainder[a], share[a]) > std::pair(quotas.remainder[b], share[b]);
  });
  while (left > 0) {
    for (const std::size_t i : order) {
      if (left == 0 || quotas.whole[i] >= high) continue;
      ++quotas.whole[i];
      --left;
    }
  }
}

// Weights relative to the largest, negligible ones as zero; equal when all are zero.
std::vector<double> shares(const std::vector<double>& weight) {
  const double largest = weight.empty() ? 0.0 : *std::max_element(weight.begin(), weight.end());
  std::vector<double> share(weight.size(), largest > 0 ? 0.0 : 1.0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (largest > 0 && weight[i] / largest >= kNegligible) share[i] = weight[i] / largest;
  }
  return share;
}

// The positive shares cannot take the total even when they are full. So they are full, and the zero
// shares divide the rest by their own weights.
std::vector<std::int64_t> full_then_rest(const std::vector<double>& weight,
                                         const std::vector<double>& share, std::int64_t total,
                                         std::int64_t low, std::int64_t high) {
  std::vector<double> rest;
  for (std::size_t i = 0; i < share.size(); ++i) {
    if (share[i] == 0) rest.push_back(weight[i]);
  }
  const auto of_rest =
      apportion(rest, total - high * std::int64_t(share.size() - rest.size()), low, high);
  std::vector<std::int64_t> count(share.size(), high);
  for (std::size_t i = 0, r = 0; i < share.size(); ++i) {
    if (share[i] == 0) count[i] = of_rest[r++];
  }
  return count;
}

}  // namespace

void check_budget(std::int64_t count, std::int64_t total, std::int64_t low, std::int64_t high) {
  require<ConfigError>(
      0 <= low && low <= high,
      fmt::format("the bounds {} .. {} rollouts a prompt are not a range", low, high),
      "every count lies between them", "set scheduler.min_rollouts <= scheduler.max_rollouts");
  const auto size = static_cast<__int128>(count);
  require<ConfigError>(
      low * size <= total && total <= high * size,
      fmt::format("a budget of {} rollouts cannot be spent on {} prompts with {} to {} each", total,
                  count, low, high),
      "the total is spent exactly in every step",
      fmt::format("choose a budget from {:.0f} to {:.0f} or widen the bounds",
                  double(low) * double(size), double(high) * double(size)));
}

std::vector<std::int64_t> apportion(const std::vector<double>& weight, std::int64_t total,
                                    std::int64_t low, std::int64_t high) {
  check(weight, total, low, high);
  const std::vector<double> share = shares(weight);
  const auto zeros = std::int64_t(std::count(share.begin(), share.end(), 0.0));
  if (zeros > 0 && total > high * (std::int64_t(share.size()) - zeros) + low * zeros)
    return full_then_rest(weight, share, total, low, high);
  Quotas quotas(share, water_level(share, total, low, high), low, high);
  hand_out(quotas, share, quotas.left(total), high);
  return quotas.whole;
}

}  // namespace rollcall::scheduling
