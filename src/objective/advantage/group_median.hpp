// Advantage group_median: rewards minus their group's median, over the median absolute deviation.
//   A_i = (r_i - med_g) / (s_g + eps) * n_g / (rollouts with |A| > 1e-6), s_g = median |r - med_g|,
//   or the standard deviation (n - 1) where that is 0
// Source: MC-GRPO, arXiv:2601.22582, section 3 (eps 1e-3 and the compensation for zero advantages
//   as released; the fallback is this project's).
// Shapes: [B] -> [N].   Knobs: adv_eps.
// What differs from group_norm: one outlier does not move the baseline, so fewer signs flip in
//   small groups. With 0/1 rewards and an odd group the deviation is always 0, which is why there
//   is a fallback. The median of an even group is the mean of the two middle rewards. A group of
//   one keeps its plain reward.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::objective {

struct GroupMedian {
  static constexpr std::string_view
      name = "group_median",
      formula =
          "A_i = (r_i - median_g) / (MAD_g, or std_g where that is 0, + adv_eps) * n / nonzero";
  double eps = 1e-3;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the group's deviation");
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor a = step.reward.clone();
    auto out = a.accessor<double, 1>();
    const at::Tensor spread = step.spread();
    const auto std = spread.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      if (begin[g + 1] - begin[g] < 2) continue;
      std::vector<double> values;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) values.push_back(out[i]);
      const double middle = median(values);
      for (double& v : values) v = std::abs(v - middle);
      const double mad = median(values), scale = differ(middle, middle + mad) ? mad : std[begin[g]];
      double pushing = 0;
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        out[i] = (out[i] - middle) / (scale + eps), pushing += std::abs(out[i]) > 1e-6;
      for (auto i = begin[g]; i < begin[g + 1] && pushing > 0; ++i)
        out[i] *= double(begin[g + 1] - begin[g]) / pushing;
    }
    return step.shape.over_tokens(a);
  }

  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
  }
};

}  // namespace rollcall::objective
