// Surrogate group_alignment: a prompt's own rollouts decide what it learns from. It is dropped when
// all are right, and it learns from an expert when all are wrong.
//   both kinds: alpha clip(rho, A) + (1 - alpha) mean_{s right, f wrong} -log sigmoid(beta (l_s -
//   l_f)),  l = sum_t (lp - ref)
//   all wrong: expert rollouts (column expert) get -gamma lp;  everything else 0
// Source: DYPO, arXiv:2604.08926 (alpha 0.5, beta 1, gamma 1).
// Shapes: [M] -> [M]; every token has the group's pair term.   Knobs: alignment_alpha,
//   alignment_beta, expert_coef, and the knobs of clip.
// What differs from clip: a bounded contrast of right and wrong joins the advantage, and prompts
//   without a success learn by imitation.
#pragma once

#include "objective/groups.hpp"
#include "objective/surrogate/clip.hpp"

namespace rollcall::objective {

struct GroupAlignment {
  static constexpr std::string_view
      name = "group_alignment",
      formula =
          "alpha clip + (1 - alpha) mean_{s, f} -log sigmoid(beta (l_s - l_f)); experts -gamma lp";
  Clip clip;
  double alpha = 0.5, beta = 1.0, gamma = 1.0;

  void bind(Knobs& knobs) {
    clip.bind(knobs);
    knobs.number("alignment_alpha", alpha, {0.0, 1.0},
                 "share of the clipped loss against that of the pairs");
    knobs.number("alignment_beta", beta, {0.0, 1e6}, "scale of the log-ratios in the pairs");
    knobs.number("expert_coef", gamma, {0.0, 1e6},
                 "weight of the expert's likelihood where every own rollout is wrong");
    for (const auto* needed : {column::correct, column::expert, column::reference_logprob})
      knobs.needs.column(needed);
    knobs.needs.whole_groups = true;
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage([this] { return alpha == 0.0; });
    knobs.reward_use.gates({.when = [] { return true; }, .heard = heard});
  }

  /// [B] the reward in groups with both a right and a wrong own rollout, and `correct` elsewhere.
  /// Only these groups learn from the reward.
  static at::Tensor heard(const Step& step) {
    const at::Tensor own = (step.named(column::expert) < 0.5).to(at::kDouble),
                     correct = (step.named(column::correct) > 0.5).to(at::kDouble);
    const at::Tensor right = step.shape.group_sum(own * correct),
                     wrong = step.shape.group_sum(own * (1.0 - correct));
    const at::Tensor paid = (right > 0)
                                .logical_and(wrong > 0)
                                .logical_and(step.shape.group_differs(step.reward))
                                .to(at::kDouble);
    return at::where(step.shape.over_rollouts(paid) > 0, step.reward, correct);
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const SurrogateLoss clipped = clip(micro_batch, ratio);
    const at::Tensor expert =
                         (micro_batch.take_rollouts(micro_batch.step.named(column::expert)) > 0.5)
                             .to(at::kDouble),
                     own = micro_batch.present() * (1 - expert);
    const at::Tensor good = accepted(micro_batch) * own, bad = own - good;
    const at::Tensor l =
        rollout_score(micro_batch, RolloutScore::log_ratio_sum,
                      micro_batch.take(micro_batch.step.named(column::reference_logprob)));
    const auto [i, j] = micro_batch.pairs();
    const at::Tensor taken = (good.index_select(0, i) > 0).logical_and(bad.index_select(0, j) > 0),
                     s = i.masked_select(taken), f = j.masked_select(taken);
    const auto [aligned, pairs] = group_mean_of_pairs(
        micro_batch, -at::log_sigmoid(beta * (l.index_select(0, s) - l.index_select(0, f))), s);
    const at::Tensor mixed =
        micro_batch.over_tokens(own * micro_batch.over_group((pairs > 0).to(at::kDouble)));
    const at::Tensor hard =
        micro_batch.over_tokens(micro_batch.take_rollouts(imitated(micro_batch.step)));
    const at::Tensor on_policy =
        alpha * clipped.loss + (1.0 - alpha) * group_loss_on_tokens(micro_batch, aligned);
    return {mixed * on_policy - hard * gamma * micro_batch.logprob,
            clipped.clipped.logical_and(mixed > 0)};
  }
};

}  // namespace rollcall::objective
