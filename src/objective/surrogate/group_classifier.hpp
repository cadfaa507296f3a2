// Surrogate group_classifier: the rollout's implicit reward, compared with its group, as the logit
// of the verifier's label.
//   u_i = beta sum_t (lp - old) or beta mean_t lp;  psi_i = u_i - mean of the others (or of the
//   group, or nothing)
//   L_i = -k_i (y_i log sigmoid(psi_i) + (1 - y_i) log sigmoid(-psi_i));  k_i = n / (2 n_class) in
//   a group of both classes, else 1
// Source: PACS, arXiv:2509.02522 (beta 1, leave-one-out, weights per question).
// Shapes: [M] -> [M], the rollout's loss on each of its tokens.   Knobs: classifier_beta,
//   classifier_score, classifier_centre, class_balance.
// What differs: it has the direction of the policy gradient, with the bounded weight sigmoid(psi) -
//   y. Actor and critic are one network. Groups of one class still train once the ratios inside
//   them differ.
#pragma once

#include "objective/groups.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupClassifier {
  static constexpr std::string_view
      name = "group_classifier",
      formula =
          "cross entropy of sigmoid(u_i - mean of the others) and y_i, u = beta sum_t (lp - old)";
  enum class Score { log_ratio_sum, likelihood };
  enum class Centre { others, group, none };
  enum class Balance { off, on };
  double beta = 1.0;
  Score score = Score::log_ratio_sum;
  Centre centre = Centre::others;
  Balance balance = Balance::on;

  void bind(Knobs& knobs) {
    knobs.number("classifier_beta", beta, {0.0, 1e6}, "scale of the implicit reward");
    knobs.choice("classifier_score", score, {"log_ratio_sum", "likelihood"},
                 "implicit reward of a rollout, before beta");
    knobs.choice("classifier_centre", centre, {"others", "group", "none"},
                 "what is subtracted from it: mean of the other rollouts, of the group, nothing");
    knobs.choice("class_balance", balance, {"off", "on"},
                 "right and wrong answers of a prompt weigh the same in sum");
    trains_on_correct(knobs);
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage();
    knobs.loss_use.reads_ratio = false;
    knobs.needs.whole_groups = true;
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor present = micro_batch.present(), y = accepted(micro_batch),
                     n = micro_batch.over_group(micro_batch.group_sum(present));
    const auto kind =
        score == Score::likelihood ? RolloutScore::log_likelihood : RolloutScore::log_ratio_sum;
    const at::Tensor u = beta * rollout_score(micro_batch, kind, micro_batch.old_logprob) * present,
                     sum = micro_batch.over_group(micro_batch.group_sum(u));
    const at::Tensor baseline = centre == Centre::none    ? at::zeros_like(n)
                                : centre == Centre::group ? sum / n.clamp_min(1)
                                                          : (sum - u) / (n - 1).clamp_min(1);
    const at::Tensor loss = -at::log_sigmoid((u - baseline) * (2 * y - 1)) * present;
    return {micro_batch.over_tokens(balance == Balance::on ? loss * class_weight(micro_batch, y, n)
                                                           : loss),
            {}};
  }

 private:
  static at::Tensor class_weight(const MicroBatchTensors& micro_batch, const at::Tensor& y,
                                 const at::Tensor& n) {
    const at::Tensor right = micro_batch.over_group(micro_batch.group_sum(y)), wrong = n - right;
    const at::Tensor of_class = at::where(y > 0, right, wrong).clamp_min(1);
    return at::where((right > 0).logical_and(wrong > 0), n / (2 * of_class), 1.0);
  }
};

}  // namespace rollcall::objective
