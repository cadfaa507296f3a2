// Metrics as curves, and curves thinned to the resolution of a screen.
#pragma once

#include "report/metrics.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

/// One curve. A value that is not finite is a gap.
struct Series {
  std::string name, color;   ///< a CSS colour
  std::vector<double> x, y;  ///< [n] points
};

/// The values of one metric over the steps of one phase. Rows without the metric are left out.
Series series_of(const std::vector<MetricRow>& rows, const std::string& phase,
                 const std::string& metric);
/// Metric names of a phase that begin with `prefix`, each once, in order of appearance.
std::vector<std::string> names_with(const std::vector<MetricRow>& rows, const std::string& phase,
                                    const std::string& prefix);

/// At most about 2 * buckets points: the smallest and the largest value of each bucket, in order,
/// so that no spike is lost. A bucket of gaps stays a gap.
Series thin_extremes(const Series& s, std::size_t buckets);
/// Exactly min(n, buckets) points: the mean of each bucket, so that stacked curves still add up.
Series thin_means(const Series& s, std::size_t buckets);
/// Window of a running mean that shows a trend through noise: a twentieth of a long curve, made
/// odd; 1 for a short one.
std::size_t smoothing_window(std::size_t points);
/// Running mean over `window` points, an odd number, centred and shortened at the ends. Gaps do not
/// count.
Series running_mean(const Series& s, std::size_t window);

}  // namespace rollcall::report
