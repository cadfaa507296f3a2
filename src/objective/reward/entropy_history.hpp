// Reward entropy_history: leaves the rewards alone and remembers the mean entropy of all steps so
// far, separately for each turn of a conversation, for regularizer entropy_band.
//   m += (h - m) / k at the k-th step, h the mean over its tokens of the entropy where they were
//   sampled; statistics entropy_history (m), entropy_steps (k). In conversations h is taken over
//   the turns of one index, and turns after the first have entropy_history/INDEX,
//   entropy_steps/INDEX
// Source: EPO, arXiv:2509.22576, and its released trainer: the mean over all epochs so far of a
//   turn's entropy. An answer is one turn.
// Shapes: none change.   Knobs: none.
// What differs from none: the next step's entropy_band reads this history.
#pragma once

#include "objective/pieces.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

namespace rollcall::objective {

struct EntropyHistory {
  static constexpr std::string_view name = "entropy_history",
                                    formula = "m += (h - m) / k, h the step's mean entropy";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::old_entropy);
    knobs.moves("entropy_history",
                [](const Step& step) { return step.statistic("entropy_history", 0.0); });
  }

  ShapedReward operator()(const Step& step) const {
    if (step.shape.tokens == 0) return {};
    const at::Tensor& entropy = step.named(column::old_entropy);
    ShapedReward none;
    if (step.turns.turns == step.shape.rollouts) {
      remember(step, 0, entropy.sum().item<double>() / double(step.shape.tokens), none.statistics);
      return none;
    }
    const at::Tensor sums = by_index(step, step.turns.turn_sum(entropy)),
                     tokens = by_index(step, step.turns.length);
    const auto sum = sums.accessor<double, 1>(), count = tokens.accessor<double, 1>();
    for (std::int64_t k = 0; k < sums.size(0); ++k)
      if (count[k] > 0) remember(step, k, sum[k] / count[k], none.statistics);
    return none;
  }

  /// The name of a statistic for turns of this index.
  static std::string of_turn(const char* statistic, std::int64_t index) {
    return index == 0 ? statistic : fmt::format("{}/{}", statistic, index);
  }

 private:
  /// [most turns of a rollout] sums over the turns of each index
  static at::Tensor by_index(const Step& step, const at::Tensor& per_turn) {
    const auto most = step.turns.index.max().item<std::int64_t>() + 1;
    return at::zeros({most}, at::kDouble).index_add_(0, step.turns.index, per_turn);
  }
  static void remember(const Step& step, std::int64_t index, double h,
                       std::map<std::string, double>& statistics) {
    const std::string mean = of_turn("entropy_history", index),
                      steps = of_turn("entropy_steps", index);
    const double k = step.statistic(steps, 0.0) + 1.0, before = step.statistic(mean, 0.0);
    statistics[mean] = before + (h - before) / k, statistics[steps] = k;
  }
};

}  // namespace rollcall::objective
