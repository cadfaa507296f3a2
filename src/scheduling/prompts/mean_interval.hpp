// The confidence interval of a mean, by Student's t.
#pragma once

#include <vector>

namespace rollcall::scheduling {

/// Sample standard deviation (n - 1); 0 for fewer than two values.
double deviation(const std::vector<double>& values);
/// Half-width of the 95 % interval of a mean of n >= 2 values: t(0.975, n - 1) s / sqrt(n).
double half_width(double n, double deviation);

}  // namespace rollcall::scheduling
