// Repeated n-grams of tokens within a rollout, for pieces that look at repetition and diversity.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace rollcall::objective {

struct Ngrams {
  double all = 0, distinct = 0;  ///< number of n-grams, and number of different ones among them
};

/// [B] counts for each rollout's policy tokens. N-grams are compared and not hashed, so two
/// different ones are never counted as one.
inline std::vector<Ngrams> ngrams(const Step& step, std::int64_t n) {
  std::vector<Ngrams> counted(std::size_t(step.shape.rollouts));
  if (!step.columns.token.defined()) return counted;
  const at::Tensor tokens = step.columns.token.contiguous();
  const auto* token = tokens.const_data_ptr<std::int64_t>();
  const auto offset = step.columns.offsets.accessor<std::int64_t, 1>();
  std::vector<std::int64_t> begin;
  for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
    begin.resize(std::size_t(std::max<std::int64_t>(offset[i + 1] - offset[i] - n + 1, 0)));
    std::iota(begin.begin(), begin.end(), offset[i]);
    std::sort(begin.begin(), begin.end(), [&](auto a, auto b) {
      return std::lexicographical_compare(token + a, token + a + n, token + b, token + b + n);
    });
    const auto same = [&](auto a, auto b) {
      return std::equal(token + a, token + a + n, token + b);
    };
    counted[std::size_t(i)] = {
        double(begin.size()),
        double(std::unique(begin.begin(), begin.end(), same) - begin.begin())};
  }
  return counted;
}

/// [B] share of a rollout's n-grams that occurred in it before; 0 for a rollout without n-grams.
inline at::Tensor repeated_share(const Step& step, std::int64_t n) {
  const at::Tensor share = at::zeros({step.shape.rollouts}, at::kDouble);
  auto out = share.accessor<double, 1>();
  const auto counted = ngrams(step, n);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    if (counted[i].all > 0) out[std::int64_t(i)] = 1.0 - counted[i].distinct / counted[i].all;
  }
  return share;
}

}  // namespace rollcall::objective
