// Weight down_sample: keeps the rollouts that spread the advantages most, and the tokens of these
// rollouts that matter most.
//   Rollouts: the ceil(s B) of them whose advantages have the largest variance (some of the lowest
//   and some of the highest; those at 0 come last).
//   Tokens: of those rollouts the ceil(k N) with the largest |A_it| H_it. s, k = (1 - u) start + u
//   end with u = (step - 1) / steps. A product within 1e-9 above an integer is that integer
// Source: D3S, arXiv:2509.22115, sections 3.2 to 3.4 (the shares are settings there; these values
//   are this project's).
// Shapes: [N] column current_entropy -> [N].   Knobs: rollouts_start, rollouts_end, tokens_start,
//   tokens_end.
// What differs from none: rollouts are chosen across groups, without a second normalisation. Shares
//   of 1 keep everything. An addressed draw decides between equal values.
// Acts at every update, on the update's rollouts: B, N and means are the update's.
#pragma once

#include "objective/pieces.hpp"
#include "objective/selection.hpp"

namespace rollcall::objective {

struct DownSample {
  static constexpr std::string_view
      name = "down_sample",
      formula =
          "keep the ceil(s B) rollouts of largest Var(A), then the ceil(k N) tokens of largest |A| H";
  double rollouts_start = 0.25, rollouts_end = 0.5, tokens_start = 0.25, tokens_end = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("rollouts_start", rollouts_start, {0.0, 1.0},
                 "share s of the rollouts that stay, first step");
    knobs.number("rollouts_end", rollouts_end, {0.0, 1.0}, "the same once all steps are done");
    knobs.number("tokens_start", tokens_start, {0.0, 1.0},
                 "share k of their tokens that stay, first step");
    knobs.number("tokens_end", tokens_end, {0.0, 1.0}, "the same once all steps are done");
    knobs.needs.column(column::current_entropy);
    knobs.moves("rollouts_share", [this](const Step& step) { return rollouts_share(step); });
    knobs.moves("tokens_share", [this](const Step& step) { return tokens_share(step); });
  }

  double rollouts_share(const Step& step) const {
    return between(rollouts_start, rollouts_end, step.columns.progress);
  }
  double tokens_share(const Step& step) const {
    return between(tokens_start, tokens_end, step.columns.progress);
  }
  static double between(double start, double end, double p) { return (1 - p) * start + p * end; }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor counted = (step.trained_length > 0).to(at::kDouble);
    const auto count = share_of(rollouts_share(step), counted.sum().item<double>());
    const at::Tensor kept = step.shape.over_tokens(
        widest(step.shape.rollout_mean(step.advantage), counted, step.uniform_rollouts(14), count));
    const at::Tensor score = step.advantage.abs() * step.named(column::current_entropy);
    return {{},
            largest(score, kept, step.uniform_tokens(15),
                    share_of(tokens_share(step), kept.sum().item<double>()))};
  }
};

}  // namespace rollcall::objective
