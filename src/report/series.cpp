// Extremes and means of buckets of a curve.
#include "report/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::report {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

double finite_mean(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (std::isfinite(values[i])) sum += values[i], ++count;
  }
  return count > 0 ? sum / double(count) : kGap;
}

void add_extremes(Series& out, const Series& s, std::size_t begin, std::size_t end) {
  std::size_t least = end, most = end;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(s.y[i])) continue;
    if (least == end || s.y[i] < s.y[least]) least = i;
    if (most == end || s.y[i] > s.y[most]) most = i;
  }
  if (least == end) least = most = begin;  // the bucket has only gaps
  out.x.push_back(s.x[std::min(least, most)]);
  out.y.push_back(s.y[std::min(least, most)]);
  if (least == most) return;
  out.x.push_back(s.x[std::max(least, most)]);
  out.y.push_back(s.y[std::max(least, most)]);
}

}  // namespace

Series series_of(const std::vector<MetricRow>& rows, const std::string& phase,
                 const std::string& metric) {
  Series s{metric, "", {}, {}};
  for (const auto& row : rows) {
    if (row.phase != phase) continue;
    const auto found = std::find_if(row.values.begin(), row.values.end(),
                                    [&](const auto& v) { return v.first == metric; });
    if (found == row.values.end()) continue;
    s.x.push_back(double(row.step));
    s.y.push_back(found->second);
  }
  return s;
}

std::vector<std::string> names_with(const std::vector<MetricRow>& rows, const std::string& phase,
                                    const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.phase != phase) continue;
    for (const auto& [name, value] : row.values) {
      if (name.starts_with(prefix) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

Series thin_extremes(const Series& s, std::size_t buckets) {
  if (s.x.size() <= 2 * buckets) return s;
  Series out{s.name, s.color, {}, {}};
  for (std::size_t b = 0; b < buckets; ++b)
    add_extremes(out, s, b * s.x.size() / buckets, (b + 1) * s.x.size() / buckets);
  return out;
}

Series thin_means(const Series& s, std::size_t buckets) {
  if (s.x.size() <= buckets) return s;
  Series out{s.name, s.color, {}, {}};
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = b * s.x.size() / buckets, end = (b + 1) * s.x.size() / buckets;
    out.x.push_back(finite_mean(s.x, begin, end));
    out.y.push_back(finite_mean(s.y, begin, end));
  }
  return out;
}

std::size_t smoothing_window(std::size_t points) { return points < 40 ? 1 : points / 20 | 1; }

Series running_mean(const Series& s, std::size_t window) {
  Series out = s;
  const std::size_t reach = window / 2;
  for (std::size_t i = 0; i < s.y.size(); ++i)
    out.y[i] = finite_mean(s.y, i - std::min(i, reach), std::min(s.y.size(), i + reach + 1));
  return out;
}

}  // namespace rollcall::report
