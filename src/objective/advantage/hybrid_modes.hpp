// Advantage hybrid_modes: the whole rollout is compared within its mode, its first token with the
// other mode.
//   A_it = norm(best_i) + [t = 0] mode_alpha norm(win_i)
//   best_i = 1 where r_i is the best of its mode in the group (and, if a mode has two or more
//   rollouts and all are equal, of the whole group)
//   mode: the first token decides it or, if a rollout begins with words of openings.texts, these
//   words do; no token of such a rollout made the choice, so its second term is 0
//   win_i = 1 where i's mode has the larger mean reward, with mode_margin added for not thinking
//   norm(x) = (x - mean_g) / (std_g + eps), std with n - 1
// Source: Think Only When You Need (HGPO), arXiv:2505.14631, section 2.3 (alpha 1, margin 0.2).
// Shapes: [B], [N] token ids, [B] column opening -> [N].   Knobs: think_token, think_opening,
//   mode_alpha, mode_margin, adv_eps.
// What differs from group_norm: the choice of the mode is credited to the one token that chooses. A
//   mode without rollouts loses. A group of one teaches nothing. If all answers of a mode are
//   wrong, no rollout of it is the best while the other mode has a better answer. The paper's
//   argmax leaves ties open, so this is inferred.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct HybridModes {
  static constexpr std::string_view
      name = "hybrid_modes",
      formula = "A_it = norm(best of mode) + [t = 0] mode_alpha norm(mode wins)";
  double token = 0.0, opening = 1.0, alpha = 1.0, margin = 0.2, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("think_token", token, {0.0, 1e9}, "id of the token that opens the thinking mode");
    knobs.must_be_set();
    knobs.number("think_opening", opening, {1.0, 1e9},
                 "number of the text of openings.texts that opens the thinking mode");
    knobs.number("mode_alpha", alpha, {0.0, 1e6}, "weight of the choice of the mode");
    knobs.number("mode_margin", margin, {-1e6, 1e6},
                 "mean reward granted to the mode without thinking");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the standard deviations");
    knobs.needs.column(column::opening);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor first = (step.shape.place == 0).to(at::kDouble),
                     &begun = step.named(column::opening);
    at::Tensor think = at::zeros({step.shape.rollouts}, at::kDouble);
    if (step.columns.token.defined())
      think = step.shape.rollout_sum((step.columns.token == std::int64_t(token)).to(at::kDouble) *
                                     first);
    think = at::where(begun > 0.5, (begun == opening).to(at::kDouble), think);
    const at::Tensor other = 1.0 - think, none = at::full({step.shape.rollouts}, -1e9, at::kDouble);
    const auto best_in = [&](const at::Tensor& mode) {
      return step.shape.over_rollouts(step.shape.group_max(at::where(mode > 0, step.reward, none)));
    };
    const auto mean_in = [&](const at::Tensor& mode) {
      const at::Tensor count = step.shape.group_sum(mode);
      return step.shape.over_rollouts(at::where(
          count > 0, step.shape.group_sum(step.reward * mode) / count.clamp_min(1.0), -1e9));
    };
    const at::Tensor top = step.shape.over_rollouts(step.shape.group_max(step.reward));
    const auto bests = [&](const at::Tensor& mode) {
      const at::Tensor most = best_in(mode), least = -step.shape.over_rollouts(step.shape.group_max(
                                                 at::where(mode > 0, -step.reward, none)));
      const at::Tensor flat =
          differing(most, least)
              .logical_not()
              .logical_and(step.shape.over_rollouts(step.shape.group_sum(mode)) > 1.5);
      return differing(step.reward, most)
          .logical_not()
          .logical_and(flat.logical_not().logical_or(differing(most, top).logical_not()));
    };
    const at::Tensor best = at::where(think > 0, bests(think), bests(other)).to(at::kDouble);
    const at::Tensor of_think = mean_in(think), bar = mean_in(other) + margin,
                     thinking_wins = (of_think > bar).logical_and(differing(of_think, bar));
    const at::Tensor win =
        at::where(think > 0, thinking_wins, thinking_wins.logical_not()).to(at::kDouble);
    return step.shape.over_tokens(normed(step, best)) +
           alpha * first * step.shape.over_tokens(at::where(begun > 0.5, 0.0, normed(step, win)));
  }

  at::Tensor normed(const Step& step, const at::Tensor& x) const {
    const at::Tensor centred = x - step.shape.over_rollouts(step.shape.group_mean(x));
    return centred / (step.shape.over_rollouts((step.shape.group_sum(centred.square()) /
                                                (step.shape.group_size - 1).clamp_min(1))
                                                   .sqrt()) +
                      eps);
  }
};

}  // namespace rollcall::objective
