// Surrogate group_contrast: the right answers of a prompt score above its wrong ones.
//   L_g = -(sum_{i right} w_i s_i - tau log(mean_{j wrong} exp(s_j / tau))), or with the plain mean
//   of s_j; 0 unless g has both kinds
//   s = mean_t lp (likelihood) or mean_t exp(lp - old) (ratio);  w_i = 1/n_right, or exp(-l_i /
//   length_tau) normalised over the right ones,
//   l = length / horizon
// Source: DisCO, arXiv:2505.12366 (tau 10 for likelihood, 1 for ratio; the plain form is DisCO-b);
//   lengths: DRPO, arXiv:2510.04474 (which sums over the wrong ones: a constant tau log n apart).
// Shapes: [M] -> [M], the group's loss on each token.   Knobs: contrast_score, contrast_form,
//   contrast_tau, length_tau.
// What differs: no advantage enters, so a prompt's derivative does not depend on its success rate.
//   Right answers are only ever pushed up.
#pragma once

#include "objective/groups.hpp"
#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct GroupContrast {
  static constexpr std::string_view
      name = "group_contrast",
      formula = "L_g = -(sum_right w_i s_i - tau log mean_wrong exp(s_j / tau))";
  enum class Score { likelihood, ratio };
  enum class Form { soft, plain };
  Score score = Score::likelihood;
  Form form = Form::soft;
  double tau = 10.0, length_tau = 0.0;

  void bind(Knobs& knobs) {
    knobs.choice("contrast_score", score, {"likelihood", "ratio"},
                 "score of a rollout: mean log-probability or mean ratio of its tokens");
    knobs.choice("contrast_form", form, {"soft", "plain"},
                 "wrong answers by log-mean-exp or by their mean");
    knobs.number("contrast_tau", tau, {1e-3, 1e6},
                 "temperature of the log-mean-exp; large: the plain mean");
    knobs.number("length_tau", length_tau, {0.0, 1e6},
                 "temperature of the preference for short right answers, from 0.01; 0: none");
    knobs.refuse_if([this] { return length_tau > 0.0 && length_tau < 0.01; },
                    "surrogate.length_tau is below 0.01",
                    "the weights of long answers would vanish",
                    "use 0 (off) or 0.1, the paper's value");
    trains_on_correct(knobs);
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage();
    knobs.loss_use.reads_ratio = false;
    knobs.needs.whole_groups = true;
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor s = rollout_score(
        micro_batch, score == Score::ratio ? RolloutScore::ratio : RolloutScore::log_likelihood,
        micro_batch.old_logprob);
    const at::Tensor right = accepted(micro_batch), wrong = micro_batch.present() - right,
                     wrongs = micro_batch.group_sum(wrong);
    const at::Tensor mixed =
        (micro_batch.group_sum(right) > 0).logical_and(wrongs > 0).to(at::kDouble);
    const at::Tensor weight = right * preference(micro_batch);
    const at::Tensor up =
        micro_batch.group_sum(weight * s) / micro_batch.group_sum(weight).clamp_min(1e-60);
    const at::Tensor down = form == Form::plain
                                ? masked_group_mean(micro_batch, s, wrong)
                                : tau * (masked_logsumexp(micro_batch, s / tau, wrong, false) -
                                         wrongs.clamp_min(1).log());
    return {group_loss_on_tokens(micro_batch, -mixed * (up - down)), {}};
  }

 private:
  at::Tensor preference(const MicroBatchTensors& micro_batch) const {
    if (length_tau == 0.0) return at::ones({micro_batch.rollouts()}, at::kDouble);
    const double longest = micro_batch.step.normalizer.horizon > 0
                               ? micro_batch.step.normalizer.horizon
                               : std::max(1.0, micro_batch.step.shape.length.max().item<double>());
    return (-(micro_batch.take_rollouts(micro_batch.step.shape.length) / longest).clamp_max(1.0) /
            length_tau)
        .exp();
  }
};

}  // namespace rollcall::objective
