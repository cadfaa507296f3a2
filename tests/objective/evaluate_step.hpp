// Loss, derivative and metrics of a whole step, evaluated micro-batch by micro-batch.
#pragma once

#include "plain/plain.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace rollcall::objective::test {

struct Result {
  double loss = 0;
  Column derivative, entropy_derivative, value_derivative;  ///< in the step's order
  std::map<std::string, double> metrics;
};

/// Puts a micro-batch's column back in the step's order.
inline void scatter(const PlainStep& step, const std::vector<std::int64_t>& micro_batch,
                    const at::Tensor& column, std::vector<Column>& by_rollout) {
  if (!column.defined()) return;
  const Column flat = values(column);
  auto next = flat.begin();
  for (const auto i : micro_batch) {
    const auto end = next + std::ptrdiff_t(step.rollouts[std::size_t(i)].length());
    by_rollout[std::size_t(i)].assign(next, end);
    next = end;
  }
}

inline Column joined(const std::vector<Column>& by_rollout) {
  Column all;
  for (const auto& column : by_rollout) all.insert(all.end(), column.begin(), column.end());
  return all;
}

/// Evaluates leaves of rollouts, as ranks would: each prepares the step by itself.
inline Result evaluate(const Objective& objective, const PlainStep& step,
                       const std::vector<std::vector<std::int64_t>>& micro_batches) {
  std::vector<Column> logprob(step.rollouts.size()), entropy(step.rollouts.size()),
      value(step.rollouts.size());
  std::vector<MicroBatchLoss> losses;
  Result result;
  for (const auto& micro_batch : micro_batches) {
    const auto prepared = objective.prepare(step.columns());
    losses.push_back(objective.evaluate(*prepared, step.micro_batch(micro_batch)));
    result.loss += losses.back().loss;
    scatter(step, micro_batch, losses.back().dlogprob, logprob);
    scatter(step, micro_batch, losses.back().dentropy, entropy);
    scatter(step, micro_batch, losses.back().dvalue, value);
  }
  result.derivative = joined(logprob), result.entropy_derivative = joined(entropy),
  result.value_derivative = joined(value);
  result.metrics = merge(*objective.prepare(step.columns()), losses);
  return result;
}

inline Result evaluate(const Objective& objective, const PlainStep& step) {
  return evaluate(objective, step, {step.all()});
}

inline bool all_finite(const Result& r) {
  const auto finite = [](const Column& c) {
    return std::all_of(c.begin(), c.end(), [](double x) { return std::isfinite(x); });
  };
  return std::isfinite(r.loss) && finite(r.derivative) && finite(r.entropy_derivative) &&
         finite(r.value_derivative) &&
         std::all_of(r.metrics.begin(), r.metrics.end(),
                     [](const auto& m) { return std::isfinite(m.second); });
}

/// Groups renumbered and rollouts reordered at random, still in ascending group order; `order` says
/// which old rollout each one was.
struct Shuffled {
  PlainStep step;
  std::vector<std::int64_t> order;
};
inline Shuffled shuffle(const PlainStep& step, std::mt19937& engine) {
  std::vector<std::int64_t> groups(std::size_t(step.rollouts.back().group + 1)), order = step.all();
  std::iota(groups.begin(), groups.end(), 0);
  std::shuffle(groups.begin(), groups.end(), engine);
  std::shuffle(order.begin(), order.end(), engine);
  const auto new_group = [&](std::int64_t i) {
    return groups[std::size_t(step.rollouts[std::size_t(i)].group)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return new_group(a) < new_group(b); });
  PlainStep shuffled = step;
  shuffled.rollouts.clear();
  for (const auto i : order) {
    shuffled.rollouts.push_back(step.rollouts[std::size_t(i)]);
    shuffled.rollouts.back().group = new_group(i);
  }
  return {shuffled, order};
}

/// A column of `step` with its rollouts in another order.
inline Column rearrange(const PlainStep& step, const Column& column,
                        const std::vector<std::int64_t>& order) {
  std::vector<std::ptrdiff_t> begin{0};
  for (const auto& r : step.rollouts) begin.push_back(begin.back() + std::ptrdiff_t(r.length()));
  Column moved;
  for (const auto i : order)
    moved.insert(moved.end(), column.begin() + begin[std::size_t(i)],
                 column.begin() + begin[std::size_t(i) + 1]);
  return moved;
}

}  // namespace rollcall::objective::test
