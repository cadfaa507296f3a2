// Surrogate pair_preference: the better of two answers to a prompt gains on the worse one.
//   h = beta a (l_w - l_l), r_w > r_l;  logistic: -log sigmoid(h);  square: (l_w - l_l - 1 / (2
//   beta))^2;  mean over the group's pairs
//   l = sum or mean over t of lp - anchor;  anchor: reference, old, or blend = share reference + (1
//   - share) old;  a = anisotropy where the verifier accepted w, else 1
//   lp - anchor is held within +-20 for each token, without a derivative beyond
//   lone_levels, for a step without any pair: mean_i -log sigmoid(+-l_i), + where the verifier
//   accepted i, without beta, as in TRPA's code for a batch. A mini-batch without a pair teaches
//   nothing if its step has pairs
//   pair_mean step, for token-mean: the mean over all pairs of the update, or over all its rollouts
//   if they are pushed one by one, instead of the mean within each prompt pair_losers counterparts:
//   w is the policy's own and l a counterpart of an earlier policy that the verifier rejected; all
//   other pairs have weight 0
// Source: DPO, arXiv:2305.18290, eq. 7, online as in arXiv:2402.04792; IPO, arXiv:2310.12036, eq.
//   17; blend: INPO, arXiv:2407.00617, where beta is its eta and the share its tau / eta; levels
//   and anisotropy: TRPA, arXiv:2504.04524; counterparts: SePPO, arXiv:2410.05255.
// Shapes: [M] -> [M], the group's loss on each token.   Knobs: pair_beta, pair_loss, pair_choice,
//   pair_anchor, anchor_share, pair_pool, pair_mean, pair_losers, anisotropy, lone_levels.
// What differs: only the order of the rewards counts. With pair_choice extremes, each pair has a
//   best and a worst answer, and all answers that tie take part.
#pragma once

#include "base/numbers/differing.hpp"
#include "core/derivation.hpp"
#include "objective/groups.hpp"
#include "objective/pieces.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rollcall::objective {

struct PairPreference {
  static constexpr std::string_view
      name = "pair_preference",
      formula = "L_g = mean_{r_w > r_l} -log sigmoid(beta (l_w - l_l)), l = sum_t (lp - anchor)";
  double beta = 0.1, anisotropy = 1.0, share = 1.0 / 3.0;
  enum class Form { logistic, square } form = Form::logistic;
  enum class Chosen { all, extremes } chosen = Chosen::all;
  enum class Anchor { reference, old, blend } anchor = Anchor::reference;
  enum class Pool { sum, mean } pool = Pool::sum;
  enum class Mean { prompt, step } mean = Mean::prompt;
  enum class Losers { any, counterparts } losers = Losers::any;
  enum class Lone { skip, push } lone = Lone::skip;

  void bind(Knobs& knobs) {
    knobs.number("pair_beta", beta, {1e-6, 1e6}, "weight of the pull to the anchor");
    knobs.number("anisotropy", anisotropy, {0.0, 1e6},
                 "factor within the sigmoid for pairs whose winner the verifier accepted");
    knobs.choice("pair_loss", form, {"logistic", "square"}, "loss of a pair");
    knobs.choice("pair_choice", chosen, {"all", "extremes"},
                 "all pairs of different reward, or best against worst");
    knobs.choice("pair_anchor", anchor, {"reference", "old", "blend"},
                 "policy the log-ratio is taken against");
    knobs.number(
        "anchor_share", share, {0.0, 1.0},
        "blend: share of the reference policy's log-prob in the anchor, the old policy's being the rest");
    knobs.choice("pair_pool", pool, {"sum", "mean"}, "log-ratio of a rollout from its tokens");
    knobs.choice(
        "pair_mean", mean, {"prompt", "step"},
        "pairs averaged within their prompt, or all of the update alike (aggregate token-mean)");
    knobs.choice("pair_losers", losers, {"any", "counterparts"},
                 "the worse of a pair: any answer, or a rejected one of an earlier policy");
    knobs.choice("lone_levels", lone, {"skip", "push"},
                 "a step without a pair: teaches nothing, or each rollout is pushed by itself");
    knobs.needs.column([this] { return anchor != Anchor::old; }, column::reference_logprob);
    const auto by_counterpart = [this] { return losers == Losers::counterparts; };
    knobs.needs.column(by_counterpart, column::derived);
    knobs.needs.column(
        [this, by_counterpart] {
          return anisotropy != 1.0 || lone == Lone::push || by_counterpart();
        },
        column::correct);
    knobs.needs.whole_groups = true;
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage();
    knobs.loss_use.reads_ratio = false;
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor l = rollout_score(
        micro_batch, pool == Pool::sum ? RolloutScore::log_ratio_sum : RolloutScore::log_ratio,
        target(micro_batch));
    const auto [winner, loser] = allowed(
        micro_batch, ordered_pairs(micro_batch, micro_batch.take_rollouts(micro_batch.step.reward),
                                   chosen == Chosen::extremes));
    const at::Tensor gap = l.index_select(0, winner) - l.index_select(0, loser);
    const auto [loss, pairs] = group_mean_of_pairs(
        micro_batch,
        form == Form::square ? (gap - 0.5 / beta).square() : logistic(micro_batch, gap, winner),
        winner);
    const double all = mean == Mean::step || lone == Lone::push
                           ? pairs_of(micro_batch.step, chosen == Chosen::extremes)
                           : 1.0;
    const bool alone_in_step =
        lone == Lone::push && all == 0.0 &&
        pairs_of(micro_batch.step.whole(), chosen == Chosen::extremes) == 0.0;
    if (!alone_in_step)
      return {group_loss_on_tokens(
                  micro_batch, mean == Mean::step ? loss * shared(micro_batch, pairs, all) : loss),
              {}};
    const at::Tensor alone = masked_group_mean(
        micro_batch, -at::log_sigmoid(l * (2 * accepted(micro_batch) - 1)), micro_batch.present());
    return {group_loss_on_tokens(
                micro_batch,
                mean == Mean::step
                    ? alone * shared(micro_batch, micro_batch.group_sum(micro_batch.present()),
                                     micro_batch.step.normalizer.rollouts)
                    : alone),
            {}};
  }

 private:
  /// [M] log-prob of the anchor.
  at::Tensor target(const MicroBatchTensors& micro_batch) const {
    if (anchor == Anchor::old) return micro_batch.old_logprob;
    const at::Tensor reference =
        micro_batch.take(micro_batch.step.named(column::reference_logprob));
    return anchor == Anchor::reference
               ? reference
               : share * reference + (1.0 - share) * micro_batch.old_logprob;
  }
  /// [B] whether the rollout is a counterpart.
  static at::Tensor counterparts(const Step& step) {
    return step.named(column::derived) == double(DerivedKind::counterpart);
  }
  /// [B] whether it may be the worse of a pair.
  static at::Tensor rejected_counterparts(const Step& step) {
    return counterparts(step).logical_and(step.named(column::correct) < 0.5);
  }
  using Pairs = std::pair<at::Tensor, at::Tensor>;  ///< winners and losers, [K] each
  /// The pairs that have a weight.
  Pairs allowed(const MicroBatchTensors& micro_batch, Pairs pairs) const {
    if (losers == Losers::any) return pairs;
    const auto of = [&](const at::Tensor& per_rollout, const at::Tensor& place) {
      return micro_batch.take_rollouts(per_rollout).index_select(0, place);
    };
    const at::Tensor taken =
        of(rejected_counterparts(micro_batch.step), pairs.second)
            .logical_and(of(counterparts(micro_batch.step), pairs.first).logical_not());
    return {pairs.first.masked_select(taken), pairs.second.masked_select(taken)};
  }
  /// Number of pairs of trained rollouts in a step or in an update of it, so that the loss does not
  /// depend on the cut into micro-batches.
  double pairs_of(const Step& step, bool extremes) const {
    const at::Tensor all = at::ones({step.shape.rollouts}, at::kBool),
                     wins = losers == Losers::any ? all : counterparts(step).logical_not(),
                     loses = losers == Losers::any ? all : rejected_counterparts(step);
    const auto may_win = wins.accessor<bool, 1>(), may_lose = loses.accessor<bool, 1>();
    const auto reward = step.reward.accessor<double, 1>(),
               length = step.trained_length.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    double pairs = 0.0;
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      std::vector<double> trained, winners, worse;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        if (length[i] <= 0) continue;
        trained.push_back(reward[i]);
        if (may_win[i]) winners.push_back(reward[i]);
        if (may_lose[i]) worse.push_back(reward[i]);
      }
      if (trained.empty()) continue;
      const auto [least, most] = std::minmax_element(trained.begin(), trained.end());
      for (const double w : winners) {
        if (extremes && differ(w, *most)) continue;
        for (const double l : worse)
          pairs += w > l && differ(w, l) && !(extremes && differ(l, *least)) ? 1.0 : 0.0;
      }
    }
    return pairs;
  }
  /// [groups] factor on the tokens of a group that has a mean over `own` pairs (or rollouts) as its
  /// loss. With it, the mean over the update's tokens is the mean over `all` pairs.
  static at::Tensor shared(const MicroBatchTensors& micro_batch, const at::Tensor& own,
                           double all) {
    return own / std::max(all, 1.0) * micro_batch.step.normalizer.tokens /
           micro_batch.group_sum(micro_batch.take_rollouts(micro_batch.step.trained_length))
               .clamp_min(1);
  }
  at::Tensor logistic(const MicroBatchTensors& micro_batch, const at::Tensor& gap,
                      const at::Tensor& winner) const {
    return -at::log_sigmoid(
        beta *
        (anisotropy == 1.0
             ? gap
             : gap * (1.0 + (anisotropy - 1.0) * accepted(micro_batch).index_select(0, winner))));
  }
};

}  // namespace rollcall::objective
