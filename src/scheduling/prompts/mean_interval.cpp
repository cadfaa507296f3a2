// Quantiles of Student's t by a table, and beyond it by an expansion.
#include "scheduling/prompts/mean_interval.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

namespace rollcall::scheduling {
namespace {

// Quantiles 0.975 of Student's t with 1 to 30 degrees of freedom (any table of it). Beyond, their
// expansion in 1/f (Abramowitz and Stegun 26.7.5) is off by less than 1e-4.
constexpr double kQuantile[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

double deviation(const std::vector<double>& values) {
  if (!differ(values)) return 0.0;
  const auto n = double(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return n > 1 ? std::sqrt(squares / (n - 1)) : 0.0;
}

double half_width(double n, double deviation) {
  const double f = n - 1;
  return (f <= double(std::size(kQuantile)) ? kQuantile[std::size_t(f) - 1]
                                            : 1.96 + 2.372 / f + 2.823 / (f * f)) *
         deviation / std::sqrt(n);
}

}  // namespace rollcall::scheduling
