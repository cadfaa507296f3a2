// Norms and dot products in double and in one order.
#include "run/update/gradient_cosines.hpp"

#include "base/errors/error.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace rollcall::run {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The vector scaled to length 1; a zero vector stays zero.
std::vector<double> unit(std::span<const double> direction) {
  std::vector<double> scaled(direction.begin(), direction.end());
  const double length = std::sqrt(dot(direction, direction));
  for (double& x : scaled) x = length > 0.0 ? x / length : 0.0;
  return scaled;
}

}  // namespace

std::vector<float> gradient_cosines(const TrainBatch::MicroBatchRange& range,
                                    std::span<const double> gradients,
                                    std::span<const std::int64_t> group) {
  const std::size_t width = gradients.size() / range.micro_batch.parents.size();
  // [rollouts], which are the sequences that continue a prompt
  std::vector<std::vector<double>> directions;
  for (std::size_t s = 0; s < range.micro_batch.parents.size(); ++s)
    if (range.micro_batch.parents[s] >= 0)
      directions.push_back(unit(gradients.subspan(s * width, width)));
  expect(directions.size() == range.rollouts.size(),
         "a micro-batch's rollouts continue its prompts");
  const auto group_of = [&](std::size_t i) { return group[std::size_t(range.rollouts[i])]; };
  std::vector<float> cosines;
  for (std::size_t begin = 0, end = 0; begin < directions.size(); begin = end) {
    while (end < directions.size() && group_of(end) == group_of(begin)) ++end;
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = begin; j < end; ++j)
        cosines.push_back(float(dot(directions[i], directions[j])));
  }
  return cosines;
}

double mean_squared_cosine(const std::vector<std::vector<float>>& cosines) {
  double sum = 0.0, groups = 0.0;
  for (const auto& group : cosines) {
    const auto n = std::size_t(std::lround(std::sqrt(double(group.size()))));
    if (n < 2) continue;
    double squares = 0.0;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (i / n != i % n) squares += double(group[i]) * double(group[i]);
    sum += squares / double(n * (n - 1)), groups += 1.0;
  }
  return groups > 0.0 ? sum / groups : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace rollcall::run
