// The interval of a mean: Student's t.
#pragma once

#include <vector>

namespace rollcall::scheduling {

double deviation(const std::vector<double>& values);  ///< sample standard deviation; 0 of fewer
                                                      ///< than two
double half_width(double n, double deviation);        ///< of the 95 % interval of a mean of n >= 2:
                                                      ///< t(0.975, n - 1) s / sqrt(n)

}  // namespace rollcall::scheduling
