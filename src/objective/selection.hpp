// Choices among the rollouts or tokens of a step, which never depend on their order in the step.
#pragma once

#include "base/numbers/max_variance_subset.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace rollcall::objective {

/// Column with 1 for the `count` candidates (candidate > 0) of the largest scores, else 0. Scores
/// are compared as floats, so that rounding of a double does not decide. If scores are equal, the
/// smaller `tie` comes first. `tie` is random and addressed by the rollout, not by its place.
inline at::Tensor largest(const at::Tensor& score, const at::Tensor& candidate,
                          const at::Tensor& tie, std::int64_t count) {
  const auto values = score.to(at::kFloat).contiguous();
  const auto open = candidate.contiguous(), ties = tie.contiguous();
  const auto* value = values.const_data_ptr<float>();
  const auto* may = open.const_data_ptr<double>();
  const auto* rank = ties.const_data_ptr<double>();
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < score.size(0); ++i) {
    if (may[i] > 0) index.push_back(i);
  }
  count = std::min(count, std::int64_t(index.size()));
  const auto before = [&](auto a, auto b) {
    return value[a] != value[b] ? value[a] > value[b] : rank[a] < rank[b];
  };
  std::nth_element(index.begin(), index.begin() + count, index.end(), before);
  at::Tensor chosen = at::zeros({score.size(0)}, at::kDouble);
  auto* out = chosen.data_ptr<double>();
  for (std::int64_t k = 0; k < count; ++k) out[index[std::size_t(k)]] = 1.0;
  return chosen;
}

/// share * n, rounded up. A product that exceeds an integer by rounding only becomes that integer.
inline std::int64_t share_of(double share, double n) {
  return std::int64_t(std::ceil(share * n - 1e-9));
}

/// Column with 1 for the `count` candidates whose values have the largest variance, else 0. They
/// are some candidates with the lowest and some with the highest values. Values at 0 are chosen
/// last.
inline at::Tensor widest(const at::Tensor& values, const at::Tensor& candidate,
                         const at::Tensor& tie, std::int64_t count) {
  const at::Tensor apart = candidate * (values.abs() > 1e-9).to(at::kDouble);
  const auto nonzero = apart.sum().item<std::int64_t>();
  if (count >= nonzero)
    return apart + largest(at::zeros_like(values), candidate - apart, tie, count - nonzero);
  const auto v = values.accessor<double, 1>(), ties = tie.accessor<double, 1>(),
             in = apart.accessor<double, 1>();
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    if (in[i] > 0) index.push_back(i);
  }
  std::sort(index.begin(), index.end(), [&](auto a, auto b) {
    return float(v[a]) != float(v[b]) ? v[a] < v[b] : ties[a] < ties[b];
  });
  std::vector<double> ascending;
  for (const auto i : index) ascending.push_back(v[i]);
  const std::size_t n = index.size(), m = std::size_t(count),
                    lowest = m > 0 ? smallest_of_widest(ascending, m) : 0;
  at::Tensor chosen = at::zeros_like(values);
  auto out = chosen.accessor<double, 1>();
  for (std::size_t k = 0; k < n; ++k) {
    if (k < lowest || k >= n - (m - lowest)) out[index[k]] = 1.0;
  }
  return chosen;
}

/// The papers of one bundle (arXiv:2510.00911). A paper is a list of rollouts, one from each group
/// of the bundle that has one left.
using Papers = std::vector<std::vector<std::int64_t>>;

/// Bundles of `size` groups each, from the groups that have tokens. `draw`: [B] random numbers,
/// addressed by rollout, that decide which groups form a bundle and which rollouts form a paper.
/// `begin`: StepShape::group_begin().
inline std::vector<Papers> bundled(const at::Tensor& draw, const at::Tensor& group_tokens,
                                   const std::vector<std::int64_t>& begin, std::size_t size) {
  const auto u = draw.accessor<double, 1>(), tokens = group_tokens.accessor<double, 1>();
  const auto before = [&](auto a, auto b) { return u[a] < u[b]; };
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<Papers> bundles;
  for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
    if (tokens[std::int64_t(g)] <= 0) continue;
    groups.emplace_back();
    for (auto i = begin[g]; i < begin[g + 1]; ++i) groups.back().push_back(i);
    std::sort(groups.back().begin(), groups.back().end(), before);
  }
  std::sort(groups.begin(), groups.end(),
            [&](const auto& a, const auto& b) { return before(a.front(), b.front()); });
  for (std::size_t first = 0; first < groups.size(); first += size) {
    bundles.emplace_back();
    for (std::size_t k = 0;; ++k) {
      std::vector<std::int64_t> paper;
      for (std::size_t g = first; g < std::min(first + size, groups.size()); ++g) {
        if (k < groups[g].size()) paper.push_back(groups[g][k]);
      }
      if (paper.empty()) break;
      bundles.back().push_back(std::move(paper));
    }
  }
  return bundles;
}

}  // namespace rollcall::objective
