// Advantage turn_center: the reward or return of a turn compared with similar turns, plus the
// outcome of its rollout.
//   A_it = outcome_weight E_i + turn_weight C_k + whole_weight Z_k,  t in turn k of rollout i
//   x_k = r_k, or G_k = r_k + turn_gamma G_k+1 (turn_of);  C: x of a class of turns of the prompt,
//   x - m | n/(n-1) (x - m) | (x - m) / (s + adv_eps) (turn_centre), s with n - 1
//   class (turn_key): turns of the same index, state or kind, all turns of the group, or of the
//   same last h states: then C = sum_h w_h C_h / sum_h w_h over those h = 1 .. history for which
//   the class has two turns or more, w_h = (h + 1)^history_alpha
//   E: r_i against its group (outcome);  Z: x standardised over all turns of the step
// Source: state and the defaults, GiGPO; history, HGPO; index, Dr. Kernel (leave-one-out),
//   MatchTIR, MAPO and UI-S1 (restarts); kind, RLVMR; group and index with centre_then_return, IGPO
//   and A2TGPO. Each row's card says what was taken from its paper and what is inferred.
// Shapes: [K] turn/reward, and turn/state, turn/kind or turn/flags where a setting asks -> [N].
// Knobs: turn_key, turn_of, turn_gamma, turn_centre, turn_alone, turn_order, turn_spread, outcome,
//   outcome_weight, turn_weight, whole_weight, history, history_alpha, restarts, adv_eps.
// What differs from group_center: every turn of a rollout has its own advantage. A class of one
//   gives 0 (turn_alone = itself: its x). State 0 means no state, and such a turn is alone. In a
//   step of single answers every rollout is one turn, which gets the rollout's reward.
#pragma once

#include "core/rollout.hpp"
#include "objective/pieces.hpp"

#include <cmath>
#include <unordered_map>
#include <vector>

namespace rollcall::objective {

struct TurnCenter {
  static constexpr std::string_view
      name = "turn_center",
      formula =
          "A = outcome_weight E_i + turn_weight C(turn_key) + whole_weight Z, of r_k or of returns";
  enum class Key { index, state, kind, group, history } key = Key::state;
  enum class Of { reward, returns } of = Of::returns;
  enum class Order { return_then_centre, centre_then_return } order = Order::return_then_centre;
  enum class Spread { none, sqrt } spread = Spread::none;
  enum class Outcome { zero, center, standard } outcome = Outcome::center;
  enum class Restarts { none, patched } restarts = Restarts::none;
  TurnShape::Centre centre = TurnShape::Centre::mean;
  TurnShape::Alone alone = TurnShape::Alone::zero;
  double gamma = 0.95, outcome_weight = 1.0, turn_weight = 1.0, whole_weight = 0.0, history = 2.0,
         history_alpha = 1.0, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.choice("turn_key", key, {"index", "state", "kind", "group", "history"},
                 "which turns of a prompt are compared");
    knobs.choice("turn_of", of, {"reward", "return"},
                 "what of a turn is compared: its reward, or the discounted rewards from it on");
    knobs.number("turn_gamma", gamma, {0.0, 1.0}, "discount per turn that still follows");
    knobs.choice("turn_centre", centre, {"mean", "leave_one_out", "standard"},
                 "less the class's mean, less the others' mean, or divided by the spread as well");
    knobs.choice("turn_alone", alone, {"zero", "itself"}, "what a turn without a class is worth");
    knobs.choice("turn_order", order, {"return_then_centre", "centre_then_return"},
                 "returns compared with their class, or returns of compared rewards");
    knobs.choice("turn_spread", spread, {"none", "sqrt"},
                 "centre_then_return: a return is divided by the square root of its terms");
    knobs.choice("outcome", outcome, {"zero", "center", "standard"},
                 "the rollout's reward: left out, less the group's mean, or standardised");
    knobs.number("outcome_weight", outcome_weight, {0.0, 1e6}, "weight of the outcome");
    knobs.number("turn_weight", turn_weight, {0.0, 1e6}, "weight of the class of turns");
    knobs.number("whole_weight", whole_weight, {0.0, 1e6},
                 "weight of the turn against all turns of the step");
    knobs.number("history", history, {1.0, 64.0}, "turn_key = history: most states compared");
    knobs.number("history_alpha", history_alpha, {0.0, 16.0},
                 "turn_key = history: how much more long histories weigh");
    knobs.choice("restarts", restarts, {"none", "patched"},
                 "turns at which a return begins anew: whose action was replaced");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to a standard deviation");
    knobs.refuse_if([this] { return spread == Spread::sqrt && order == Order::return_then_centre; },
                    "turn_spread is sqrt, and turn_order is return_then_centre",
                    "the spread is that of sums of compared rewards, of which there are none",
                    "set objective.knobs.turn_order=centre_then_return, or turn_spread=none");
    knobs.needs.column(column::turn_reward);
    knobs.needs.column([this] { return key == Key::state || key == Key::history; },
                       column::turn_state);
    knobs.needs.column([this] { return key == Key::kind; }, column::turn_kind);
    knobs.needs.column([this] { return restarts == Restarts::patched; }, column::turn_flags);
    knobs.reward_use.reads_turn_rewards = true;
  }

  at::Tensor operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const at::Tensor restart = restarting(step), r = step.turn_reward();
    const bool centred_first = order == Order::centre_then_return;
    const at::Tensor x = of == Of::reward || centred_first ? r : turns.returns(r, gamma, restart);
    at::Tensor c = key == Key::history ? by_history(step, x)
                                       : turns.centred(x, classes(step), centre, alone, eps);
    if (centred_first) {
      c = turns.returns(c, gamma, restart);
      if (spread == Spread::sqrt) c = c / turns.returns(at::ones_like(c), 1.0, restart).sqrt();
    }
    at::Tensor a = turns.over_turns(outcome_weight * of_rollouts(step)) + turn_weight * c;
    if (whole_weight > 0.0) {
      // A turn without tokens, such as a turn of a lost rollout, is not compared with other turns.
      const at::Tensor whole =
          at::where(turns.length > 0, at::zeros_like(turns.index), -1 - at::arange(turns.turns));
      a = a + whole_weight * turns.centred(x, whole, TurnShape::Centre::standard, alone, eps);
    }
    return turns.over_tokens(a);
  }

 private:
  at::Tensor restarting(const Step& step) const {
    if (restarts == Restarts::none) return {};
    return step.turns.numbers(step.named(column::turn_flags)).bitwise_and(turn_flag::patched) != 0;
  }

  /// [B]
  at::Tensor of_rollouts(const Step& step) const {
    if (outcome == Outcome::zero) return at::zeros_like(step.reward);
    const at::Tensor centred = step.reward - step.baseline();
    if (outcome == Outcome::center) return centred;
    const at::Tensor several = step.shape.over_rollouts(step.shape.group_size > 1);
    return centred / at::where(several, step.spread() + eps, 1.0);
  }

  /// [K] int64, the state of each turn, or a unique number if the turn has no state.
  static at::Tensor states(const Step& step) {
    const at::Tensor state = step.turns.numbers(step.named(column::turn_state));
    return at::where(state > 0, state, -1 - at::arange(step.turns.turns));
  }

  /// [K] int64
  at::Tensor classes(const Step& step) const {
    const at::Tensor group = step.turns.over_turns(step.shape.group);
    switch (key) {
      case Key::index: return TurnShape::paired(group, step.turns.index);
      case Key::state: return TurnShape::paired(group, states(step));
      case Key::kind:
        return TurnShape::paired(group, step.turns.numbers(step.named(column::turn_kind)));
      default: return group;
    }
  }

  at::Tensor by_history(const Step& step, const at::Tensor& x) const {
    const TurnShape& turns = step.turns;
    const at::Tensor state = states(step), own = -1 - at::arange(turns.turns);
    at::Tensor same = TurnShape::paired(turns.over_turns(step.shape.group), state),
               sum = at::zeros_like(x), weights = at::zeros_like(x);
    for (int h = 1; h <= int(history); ++h) {
      // If the h - 1 states up to the turn before are equal and this state is too, h states are
      // equal. A turn with fewer earlier turns has a unique number.
      if (h > 1)
        same = at::where(turns.index >= h - 1, TurnShape::paired(same.roll(1), state), own);
      const double weight = std::pow(h + 1.0, history_alpha);
      sum = sum + weight * turns.centred(x, same, centre, TurnShape::Alone::zero, eps);
      weights = weights + weight * in_company(same);
    }
    return at::where(weights > 0, sum / weights.clamp_min(1.0),
                     alone == TurnShape::Alone::itself ? x : at::zeros_like(x));
  }

  /// [K] 1 if a different turn has the same number, else 0
  static at::Tensor in_company(const at::Tensor& numbers) {
    const at::Tensor flat = numbers.contiguous(), company = at::zeros({flat.numel()}, at::kDouble);
    const auto* of_turn = flat.const_data_ptr<std::int64_t>();
    auto* out = company.data_ptr<double>();
    std::unordered_map<std::int64_t, int> turns;
    for (std::int64_t k = 0; k < flat.numel(); ++k) turns[of_turn[k]] += 1;
    for (std::int64_t k = 0; k < flat.numel(); ++k) out[k] = turns[of_turn[k]] > 1 ? 1.0 : 0.0;
    return company;
  }
};

}  // namespace rollcall::objective
