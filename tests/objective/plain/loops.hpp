// What the plain pieces of several files are made of.
#pragma once

#include "plain/plain.hpp"

#include <algorithm>

namespace rollcall::objective::test {

template <class TokenFunction>
Column for_each_token(const PlainStep& s, TokenFunction f) {
  Column all;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) all.push_back(f(r, t));
  }
  return all;
}

/// Sum of old - rollout over a rollout's tokens.
inline double log_importance(const PlainRollout& r) {
  double sum = 0;
  for (std::size_t t = 0; t < r.length(); ++t) sum += r.old[t] - r.rollout[t];
  return sum;
}

/// (A - mean A)(current - mean current) of each token; current is old where a step leaves it out.
inline Column covariance(const PlainStep& s, const Column& a) {
  const Column current = values(s.optional(&PlainRollout::current, &PlainRollout::old));
  double mean_a = 0, mean_lp = 0;
  for (std::size_t t = 0; t < a.size(); ++t)
    mean_a += a[t] / double(a.size()), mean_lp += current[t] / double(a.size());
  Column cov;
  for (std::size_t t = 0; t < a.size(); ++t)
    cov.push_back((a[t] - mean_a) * (current[t] - mean_lp));
  return cov;
}

}  // namespace rollcall::objective::test
