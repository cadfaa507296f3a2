// Advantage baseline_scale: rewards minus a chosen baseline, over a spread of the whole step.
//   A_i = r_i - b_i, less its mean over the step if recentre;  divided by the spread of r or of r -
//   b, where that is above adv_eps;  then plus accepted_bonus where the verifier accepted i
// Source: REINFORCE++ with baseline, arXiv:2501.03262 (tokens); Lite PPO, arXiv:2508.08221 (spread
//   of r); DLER, arXiv:2510.15110; SPO, arXiv:2509.13232 (prior); MSSR, arXiv:2512.18215
//   (posterior); A-LoL, arXiv:2305.14718 (predicted); ReMax, arXiv:2310.10505 (greedy). The spread
//   divides by the count, or by one less (bessel), as verl does. The bonus is that of DLER's
//   released dp_actor.py.
// Shapes: [B] -> [N].   Knobs: baseline, spread_of, moments_over, moments_of, recentre, bessel,
//   adv_eps, accepted_bonus.
// What differs from group_norm: there is one spread for all groups, so an uneven group is not blown
//   up. The moments are taken over rollouts with tokens or over tokens, of all groups or only of
//   groups in which rewards differ. The latter are the groups that drop_equal_reward keeps, for
//   papers that have no others in the batch. A group of one keeps its plain reward under baseline
//   group.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct BaselineScale {
  static constexpr std::string_view name = "baseline_scale",
                                    formula = "A_i = (r_i - b_i [- mean]) / spread over the step";
  enum class Baseline { group, prior, posterior, predicted, greedy, none };
  enum class Spread { advantage, reward, none };
  enum class Moments { rollouts, tokens };
  enum class Groups { all, unequal };
  enum class Switch { no, yes };
  static constexpr std::pair<Baseline, const char*> columns[] = {
      {Baseline::prior, column::prior},
      {Baseline::posterior, column::posterior},
      {Baseline::predicted, column::predicted},
      {Baseline::greedy, column::greedy_reward}};
  Baseline baseline = Baseline::group;
  Spread spread = Spread::advantage;
  Moments moments = Moments::rollouts;
  Groups groups = Groups::all;
  Switch recentre = Switch::no, bessel = Switch::no;
  double eps = 1e-8, bonus = 0.0;

  void bind(Knobs& knobs) {
    knobs.choice("baseline", baseline,
                 {"group", "prior", "posterior", "predicted", "greedy", "none"},
                 "what is subtracted: the group's mean, or a column");
    knobs.choice("spread_of", spread, {"advantage", "reward", "none"},
                 "what the spread that divides is taken of");
    knobs.choice("moments_over", moments, {"rollouts", "tokens"},
                 "whether each rollout counts once or once a token in mean and spread");
    knobs.choice("moments_of", groups, {"all", "unequal"},
                 "groups that count in mean and spread: all, or those whose rewards differ");
    knobs.choice("recentre", recentre, {"no", "yes"},
                 "whether the step's mean advantage is subtracted");
    knobs.choice("bessel", bessel, {"no", "yes"},
                 "whether the spread divides by one less than what counts");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "a spread up to this divides by 1");
    knobs.number("accepted_bonus", bonus, {0.0, 1e6},
                 "added to the advantage of answers that the verifier accepted");
    knobs.needs.column([this] { return bonus > 0.0; }, column::correct);
    for (const auto& [choice, read] : columns) {
      const auto chosen = [this, wanted = choice] { return baseline == wanted; };
      knobs.needs.column(chosen, read);
      knobs.reward_use.subtracts_verifiers(chosen, [read = read] { return std::string(read); });
      if (choice != Baseline::greedy) knobs.reward_use.takes_largest(chosen, [] { return 1.0; });
    }
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor weight =
        moments == Moments::tokens ? step.shape.length : (step.shape.length > 0).to(at::kDouble);
    if (groups == Groups::unequal) {
      const at::Tensor differ =
          step.shape.group_differs(step.reward).logical_or(step.shape.group_size < 1.5);
      weight = weight * step.shape.over_rollouts(differ.to(at::kDouble));
    }
    const at::Tensor count = weight.sum().clamp_min(1.0), share = weight / count;
    at::Tensor a = step.reward;
    if (baseline == Baseline::group) a = a - step.baseline();
    for (const auto& [choice, read] : columns)
      if (baseline == choice) a = a - step.named(read);
    const at::Tensor source = spread == Spread::reward ? step.reward : a;
    at::Tensor variance = ((source - mean_of(source, weight)).square() * share).sum();
    if (bessel == Switch::yes) variance = variance * count / (count - 1.0).clamp_min(1.0);
    const double deviation = variance.sqrt().item<double>();
    if (recentre == Switch::yes) a = a - mean_of(a, weight);
    if (spread != Spread::none && deviation > eps) a = a / deviation;
    if (bonus > 0.0) a = a + bonus * (step.named(column::correct) > 0.5).to(at::kDouble);
    return step.shape.over_tokens(a);
  }
};

}  // namespace rollcall::objective
