// Surrogate group_labels: right and wrong as class labels, with an anchor logit 0 between them.
//   x_i = mean_t (lp - old) / tau;  split: L_g = log(1 + sum_wrong exp(x)) + log(1 + sum_right
//   exp(-x))
//   product: log(1 + sum_wrong exp(x) sum_right exp(-x));  bce: mean_i log(1 + exp(-+x_i));  0
//   unless g has both kinds
// Source: Rewards as Labels, arXiv:2602.05630 (REAL; tau 0.5; the other two forms are its
//   ablations).
// Shapes: [M] -> [M], the group's loss on each token.   Knobs: label_tau, label_form.
// What differs: each rollout's weight is a softmax, monotone in its own score and below 1/tau,
//   instead of a constant advantage.
#pragma once

#include "objective/groups.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupLabels {
  static constexpr std::string_view
      name = "group_labels",
      formula =
          "log(1 + sum_wrong exp(x)) + log(1 + sum_right exp(-x)), x = mean_t (lp - old) / tau";
  enum class Form { split, product, bce };
  double tau = 0.5;
  Form form = Form::split;

  void bind(Knobs& knobs) {
    knobs.number("label_tau", tau, {1e-3, 1e6}, "temperature of the score");
    knobs.choice("label_form", form, {"split", "product", "bce"},
                 "how the logits of a group make a loss");
    trains_on_correct(knobs);
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage();
    knobs.loss_use.reads_ratio = false;
    knobs.needs.whole_groups = true;
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor x =
        rollout_score(micro_batch, RolloutScore::log_ratio, micro_batch.old_logprob) / tau;
    const at::Tensor right = accepted(micro_batch), wrong = micro_batch.present() - right;
    const at::Tensor mixed = (micro_batch.group_sum(right) > 0)
                                 .logical_and(micro_batch.group_sum(wrong) > 0)
                                 .to(at::kDouble);
    return {group_loss_on_tokens(micro_batch, mixed * of_group(micro_batch, x, right, wrong)), {}};
  }

 private:
  at::Tensor of_group(const MicroBatchTensors& micro_batch, const at::Tensor& x,
                      const at::Tensor& right, const at::Tensor& wrong) const {
    if (form == Form::bce)
      return masked_group_mean(micro_batch, -at::log_sigmoid(x * (right - wrong)), right + wrong);
    if (form == Form::split)
      return masked_logsumexp(micro_batch, x, wrong, true) +
             masked_logsumexp(micro_batch, -x, right, true);
    return -at::log_sigmoid(-(masked_logsumexp(micro_batch, x, wrong, false) +
                              masked_logsumexp(micro_batch, -x, right, false)));
  }
};

}  // namespace rollcall::objective
