// Counts how often each answer was given in a group, for pieces that look at whether rollouts
// agree.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>
#include <map>
#include <vector>

namespace rollcall::objective {

/// The value of column answer for a rollout in which no answer was found.
inline constexpr double kNoAnswer = -1.0;

/// [P] for each group, the number of its rollouts that gave each answer. Keys are numbers of column
/// answer.
inline std::vector<std::map<double, double>> votes(const Step& step) {
  const at::Tensor column = step.named(column::answer).contiguous();
  const double* answer = column.const_data_ptr<double>();
  const auto& begin = step.shape.group_begin();
  std::vector<std::map<double, double>> all(begin.empty() ? 0 : begin.size() - 1);
  for (std::size_t g = 0; g < all.size(); ++g)
    for (auto i = begin[g]; i < begin[g + 1]; ++i) all[g][answer[i]] += 1.0;
  return all;
}

/// Entropy of the distribution of these answers among `n` rollouts, in nats.
inline double entropy_of(const std::map<double, double>& votes, double n) {
  double h = 0.0;
  for (const auto& [unused, count] : votes) h -= count / n * std::log(count / n);
  return h;
}

}  // namespace rollcall::objective
