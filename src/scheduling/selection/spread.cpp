// Sorts the values and tries every split into small and large ones.
#include "scheduling/selection/spread.hpp"

#include "base/numbers/max_variance_subset.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::scheduling {

std::vector<std::uint8_t> widest_subset(const std::vector<double>& values, std::size_t keep) {
  const std::size_t n = values.size();
  std::vector<std::uint8_t> chosen(n, keep >= n);
  if (keep >= n || keep == 0) return chosen;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ascending;
  for (const std::size_t i : order) ascending.push_back(values[i]);
  const std::size_t best = smallest_of_widest(ascending, keep);
  for (std::size_t i = 0; i < n; ++i) chosen[order[i]] = i < best || i >= n - (keep - best);
  return chosen;
}

}  // namespace rollcall::scheduling
