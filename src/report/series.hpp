// Columns of the metrics as curves, and curves thinned to what a screen can show.
#pragma once

#include "report/metrics.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

/// One curve. Values that are not finite are gaps.
struct Series {
  std::string name, color;   ///< a CSS colour
  std::vector<double> x, y;  ///< [n]
};

/// The values of one metric over the steps of one phase; rows that lack it are left out.
Series series_of(const std::vector<MetricRow>& rows, const std::string& phase,
                 const std::string& metric);
/// Distinct metric names of a phase that begin with `prefix`, in order of appearance.
std::vector<std::string> names_with(const std::vector<MetricRow>& rows, const std::string& phase,
                                    const std::string& prefix);

/// At most about 2 * buckets points, in order: the least and the greatest value of each bucket, so
/// no spike is lost; a bucket of gaps stays a gap.
Series thin_extremes(const Series& s, std::size_t buckets);
/// Exactly min(n, buckets) points: the mean of each bucket, so that stacked curves keep their sum.
Series thin_means(const Series& s, std::size_t buckets);
/// Points of a running mean that lets a trend show through noise: a twentieth of a long curve, odd;
/// 1 for a short one.
std::size_t smoothing_window(std::size_t points);
/// Centred running mean over `window` points (odd), shortened at the ends; gaps do not count.
Series running_mean(const Series& s, std::size_t window);

}  // namespace rollcall::report
