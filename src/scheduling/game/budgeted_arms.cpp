// Sums start from the cost of the lowest arms, so that a row is only as long as the number of
// rollouts that remain to be distributed.
#include "scheduling/game/budgeted_arms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rollcall::scheduling {
namespace {

/// Divides a row by a power of two, which loses no bit, so that it stays within the range of a
/// double for any number of bins. Returns the exponent.
int rescale(std::vector<double>& row) {
  const double most = *std::max_element(row.begin(), row.end());
  if (most <= 0.0) return 0;
  const int exponent = std::ilogb(most);
  const double factor = std::ldexp(1.0, -exponent);
  for (double& x : row) x *= factor;
  return exponent;
}

/// A dot product as four independent sums, which the processor computes at the same time.
double dot(const double* a, const double* b, std::size_t n) {
  double sum[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t j = 0; j < 4; ++j) sum[j] += a[i + j] * b[i + j];
  }
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// The index that u in [0, 1) selects; the last possible index takes the rest that rounding leaves.
std::size_t pick(const std::vector<double>& chance, double u) {
  double left = u * std::accumulate(chance.begin(), chance.end(), 0.0);
  std::size_t last = 0;
  for (std::size_t i = 0; i < chance.size(); ++i) {
    if (chance[i] <= 0.0) continue;
    last = i;
    left -= chance[i];
    if (left < 0.0) break;
  }
  return last;
}

}  // namespace

BudgetedArms::BudgetedArms(std::vector<Bin> bins, std::int64_t low, std::int64_t budget,
                           std::int64_t most_slack)
    : bins_(std::move(bins)), above_(budget) {
  std::int64_t reach = 0;
  for (const Bin& bin : bins_)
    above_ -= low * bin.prompts, reach += std::int64_t(arms() - 1) * bin.prompts;
  const std::int64_t last = std::min(above_ + most_slack, reach);
  if (last < 0) return;
  const auto width = std::size_t(last) + 1;
  forward_.assign(bins_.size() + 1, std::vector<double>(width));
  forward_[0][0] = 1.0;
  std::size_t reached = 1;
  for (std::size_t b = 0; b < bins_.size(); ++b) {
    const std::vector<double>& from = forward_[b];
    for (std::size_t a = 0; a < arms(); ++a) {
      const auto shift = a * std::size_t(bins_[b].prompts);
      if (shift >= width) break;
      const double w = bins_[b].weight[a];
      double* to = forward_[b + 1].data() + shift;
      for (std::size_t s = 0, n = std::min(reached, width - shift); s < n; ++s)
        to[s] += w * from[s];
    }
    reached = std::min(width, reached + (arms() - 1) * std::size_t(bins_[b].prompts));
    exponent_ += rescale(forward_[b + 1]);
  }
}

double BudgetedArms::mass(std::int64_t slack) const {
  if (forward_.empty()) return 0.0;
  const std::vector<double>& total = forward_.back();
  double sum = 0.0;
  for (std::int64_t s = std::max<std::int64_t>(above_ - slack, 0);
       s <= above_ + slack && s < std::int64_t(total.size()); ++s)
    sum += total[std::size_t(s)];
  return std::ldexp(sum, exponent_);
}

std::vector<std::vector<double>> BudgetedArms::backward() const {
  const std::size_t width = forward_.front().size();
  std::vector<std::vector<double>> back(bins_.size() + 1, std::vector<double>(width));
  for (std::int64_t s = std::max<std::int64_t>(above_ - slack_, 0);
       s <= above_ + slack_ && s < std::int64_t(width); ++s)
    back.back()[std::size_t(s)] = 1.0;
  for (std::size_t b = bins_.size(); b-- > 1;) {
    for (std::size_t a = 0; a < arms(); ++a) {
      const auto shift = a * std::size_t(bins_[b].prompts);
      if (shift >= width) break;
      const double w = bins_[b].weight[a];
      const double* from = back[b + 1].data() + shift;
      double* to = back[b].data();
      for (std::size_t s = 0; s < width - shift; ++s) to[s] += w * from[s];
    }
    rescale(back[b]);
  }
  return back;
}

void BudgetedArms::condition(std::int64_t slack) {
  slack_ = slack;
  const auto back = backward();
  const std::size_t width = forward_.front().size();
  marginal_.assign(bins_.size(), std::vector<double>(arms()));
  for (std::size_t b = 0; b < bins_.size(); ++b) {
    for (std::size_t a = 0; a < arms(); ++a) {
      const auto shift = a * std::size_t(bins_[b].prompts);
      if (shift < width)
        marginal_[b][a] =
            bins_[b].weight[a] * dot(forward_[b].data(), back[b + 1].data() + shift, width - shift);
    }
    const double sum = std::accumulate(marginal_[b].begin(), marginal_[b].end(), 0.0);
    for (double& x : marginal_[b]) x /= sum;
  }
}

std::vector<std::size_t> BudgetedArms::draw(const RandomStream& random, std::uint64_t index) const {
  std::vector<double> chance = forward_.back();
  for (std::int64_t s = 0; s < std::int64_t(chance.size()); ++s) {
    if (std::abs(s - above_) > slack_) chance[std::size_t(s)] = 0.0;
  }
  std::size_t left = pick(chance, random.uniform(index));
  std::vector<std::size_t> arm(bins_.size());
  chance.assign(arms(), 0.0);
  for (std::size_t b = bins_.size(); b-- > 0;) {
    for (std::size_t a = 0; a < arms(); ++a) {
      const auto shift = a * std::size_t(bins_[b].prompts);
      chance[a] = shift <= left ? bins_[b].weight[a] * forward_[b][left - shift] : 0.0;
    }
    arm[b] = pick(chance, random.uniform(index + 1 + b));
    left -= arm[b] * std::size_t(bins_[b].prompts);
  }
  return arm;
}

}  // namespace rollcall::scheduling
