// Hand-worked numbers of the rows that train rollouts of a second pass.
#include "core/derivation.hpp"
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

/// A rollout of the one prompt: probabilities of its tokens before the update, and their ratios.
PlainRollout rollout(double reward, const std::vector<double>& old,
                     const std::vector<double>& ratios) {
  PlainRollout r;
  r.reward = reward, r.correct = reward;
  for (std::size_t t = 0; t < old.size(); ++t) {
    r.old.push_back(std::log(old[t])), r.now.push_back(std::log(old[t] * ratios[t]));
    r.rollout.push_back(r.old[t]), r.reference.push_back(r.old[t]);
    r.entropy.push_back(1.0);
  }
  return r;
}

/// worked_step() and two rollouts with help, whose first token was given: the policy finds it half
/// as likely as what it said itself.
PlainStep with_hints() {
  PlainStep step = worked_step();
  for (const double reward : {1.0, 0.0}) {
    step.rollouts.push_back(rollout(reward, {0.25, 0.5}, {1.0, 1.0}));
    step.rollouts.back().tier = 2, step.rollouts.back().given = {1.0, 0.0};
    step.rollouts.back().derived = double(DerivedKind::hint);
  }
  return step;
}

/// worked_step() and a correct refinement of two tokens, of probability 0.1 and 0.9.
PlainStep with_refinement() {
  PlainStep step = worked_step();
  step.rollouts.push_back(rollout(1.0, {0.1, 0.9}, {1.0, 1.0}));
  step.rollouts.back().derived = double(DerivedKind::refinement);
  return step;
}

/// worked_step() and, in a group of its own, an answer whose first two tokens of three were given.
PlainStep with_intervention() {
  PlainStep step = worked_step();
  step.rollouts.push_back(rollout(1.0, {0.2, 0.5, 0.5}, {1.0, 1.0, 1.0}));
  step.rollouts.back().group = 1, step.rollouts.back().given = {1.0, 1.0, 0.0};
  step.rollouts.back().derived = double(DerivedKind::intervention);
  return step;
}

/// worked_step() whose second rollout is a counterpart, and a correct counterpart beside it.
PlainStep with_counterparts() {
  PlainStep step = worked_step();
  step.rollouts[1].derived = double(DerivedKind::counterpart);
  step.rollouts.push_back(rollout(0.0, {0.5}, {2.0}));
  step.rollouts.back().correct = 1.0;
  step.rollouts.back().derived = double(DerivedKind::counterpart);
  return step;
}

}  // namespace

HandWorkedTable worked_second_pass() {
  const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);  // group_norm of 1 and 0
  // Rewards 1, 0, 1: mean 2/3, squares 1/9 + 4/9 + 1/9 = 2/3 over 2.
  const double spread = std::sqrt(1.0 / 3) + 1e-6, good = (1.0 / 3) / spread,
               bad = (2.0 / 3) / spread;
  const double gap = std::log(1.5) + std::log(0.9) - std::log(1.1),
               dpo = 0.1 / (1 + std::exp(0.1 * gap));
  // clang-format off
  return {
      // A = +-1/2 in both halves. Four rollouts of 2, 1, 2 and 1 trained tokens: the failed one's
      // given token is dropped, the other's weighs 1/2.
      // Losses: (-0.6 - 0.45) / 2, 0.55, (-0.25 - 0.5) / 2, 0.5; mean 0.0375. 1.5 is clipped.
      {"adhint", {0.0375, {0.0, -0.45 / 8, 0.55 / 4, -0.25 / 8, -0.5 / 8, 0.0, 0.5 / 4}, with_hints}},
      // dapo's clip at 0.2: -1.2 and -0.9 times good, 1.1 times bad; f(0.1) = 1/2 and f(0.9) = 9/10
      // with derivatives 1/4 and 9/100. The loss is a mean of five tokens, and the entropy bonus
      // 0.001 times a mean entropy of 1.
      {"critique-grpo", {
       (-(1.2 + 0.9) * good + 1.1 * bad - (0.5 + 0.9) * good) / 5 - 0.001,
        {0.0, -0.9 * good / 5, 1.1 * bad / 5, -0.25 * good / 5, -0.09 * good / 5}, with_refinement}},
      // grpo's numbers as a mean of five tokens. Two of them are given: they have no loss of the
      // policy, and the likelihood of the two is a mean of its own.
      {"int-intervention-training", {
       (-1.2 - 0.9 + 1.1) * a / 5 - (std::log(0.2) + std::log(0.5)) / 2, {0.0, -0.9 * a / 5, 1.1 * a / 5, -0.5, -0.5, 0.0}, with_intervention}},
      // One pair has weight 1, the other 0: online_dpo's number, and nothing for the counterpart
      // that was right.
      {"seppo", {std::log1p(std::exp(-0.1 * gap)), {-dpo, -dpo, dpo, 0.0}, with_counterparts}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
