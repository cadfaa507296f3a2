// Prefix sums over the sorted values.
#include "scheduling/selection/spread.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::scheduling {

std::vector<std::uint8_t> widest_subset(const std::vector<double>& values, std::size_t keep) {
  const std::size_t n = values.size();
  std::vector<std::uint8_t> chosen(n, keep >= n);
  if (keep >= n || keep == 0) return chosen;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double centre = std::accumulate(values.begin(), values.end(), 0.0) / double(n);  // variance does not change when all values move; sums stay small
  std::vector<double> sum(n + 1), square(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double v = values[order[i]] - centre;
    sum[i + 1] = sum[i] + v;
    square[i + 1] = square[i] + v * v;
  }
  std::size_t best = 0;
  double widest = -1.0;
  for (std::size_t low = 0; low <= keep; ++low) {
    const std::size_t high = n - (keep - low);
    const double mean = (sum[low] + sum[n] - sum[high]) / double(keep), variance = (square[low] + square[n] - square[high]) / double(keep) - mean * mean;
    if (variance > widest + 1e-12) best = low, widest = variance;
  }
  for (std::size_t i = 0; i < n; ++i) chosen[order[i]] = i < best || i >= n - (keep - best);
  return chosen;
}

}  // namespace rollcall::scheduling
