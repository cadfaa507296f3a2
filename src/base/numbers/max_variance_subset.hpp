// The subset of largest variance: max-variance down-sampling of rollouts, which two layers use.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace rollcall {

/// The subset of `keep` (1 .. n) of n ascending values with the largest population variance
/// consists of some of the smallest and some of the largest values (arXiv:2504.13818, lemma on
/// max-variance down-sampling). Returns how many of the smallest it contains. Ties are broken in
/// favour of fewer small values.
inline std::size_t smallest_of_widest(const std::vector<double>& ascending, std::size_t keep) {
  const std::size_t n = ascending.size();
  // shifting all values does not change the variance and keeps the sums small
  const double centre = std::accumulate(ascending.begin(), ascending.end(), 0.0) / double(n);
  std::vector<double> sum(n + 1), square(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double v = ascending[i] - centre;
    sum[i + 1] = sum[i] + v;
    square[i + 1] = square[i] + v * v;
  }
  std::size_t best = 0;
  double widest = -1.0;
  for (std::size_t low = 0; low <= keep; ++low) {
    const std::size_t high = n - (keep - low);
    const double mean = (sum[low] + sum[n] - sum[high]) / double(keep),
                 variance = (square[low] + square[n] - square[high]) / double(keep) - mean * mean;
    if (variance > widest + 1e-12) best = low, widest = variance;
  }
  return best;
}

}  // namespace rollcall
