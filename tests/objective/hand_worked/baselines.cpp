// Hand-worked numbers of the rows that choose another baseline or spread.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

// On worked_step() a rollout advantage a0 >= 0 meets ratios 1.5 and 0.9, and a1 <= 0 meets 1.1.
// With upper bound `top`:
// token losses -top a0 (no derivative, as 1.5 > top), -0.9 a0, -1.1 a1; each derivative is the loss
// itself, as d rho / d lp = rho.
HandWorked by_tokens(double a0, double a1, double top = 1.2) {  // mean over the three tokens
  return {-(top * a0 + 0.9 * a0 + 1.1 * a1) / 3, {0.0, -0.9 * a0 / 3, -1.1 * a1 / 3}};
}
// mean over two tokens and over one, then over both
HandWorked by_rollouts(double a0, double a1, double top = 1.2) {
  return {-(top * a0 + 0.9 * a0) / 4 - 1.1 * a1 / 2, {0.0, -0.9 * a0 / 4, -1.1 * a1 / 2}};
}
/// And coef times k3 from the reference, which is the old policy: 1 / rho - 1 + ln rho, with
/// derivative 1 - 1 / rho; `share` of each token.
HandWorked with_divergence(HandWorked numbers, double coef, const std::vector<double>& share) {
  const double rho[] = {1.5, 0.9, 1.1};
  for (int t = 0; t < 3; ++t) {
    numbers.loss += coef * share[t] * (1 / rho[t] - 1 + std::log(rho[t]));
    numbers.derivative[t] += coef * share[t] * (1 - 1 / rho[t]);
  }
  return numbers;
}
HandWorked on(HandWorked numbers, std::function<PlainStep()> step) {
  numbers.step = std::move(step);
  return numbers;
}

// spread and advantage of rewards 1 and 0
const double s = 1 / std::sqrt(2.0), grpo = 0.5 / (s + 1e-6);
const double l0 = std::log(0.75), l1 = std::log(0.45), l2 = std::log(0.55);  // the three log-probs

PlainStep with_prior(double p0, double p1) {
  PlainStep step = worked_step();
  step.rollouts[0].prior = p0, step.rollouts[1].prior = p1;
  return step;
}
PlainStep with_prediction(double p) {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) r.predicted = p, r.prior = 0.9;  // what is tracked does not enter
  return step;
}
PlainStep apart() {  // two prompts of one rollout
  PlainStep step = worked_step();
  step.rollouts[1].group = 1;
  return step;
}
PlainStep greedy_solved() {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) r.greedy = 1.0;
  return step;
}
PlainStep even_odds() {  // sum over the vocabulary of p^2 where two tokens have 1/2 each
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) r.sum_squares.assign(r.length(), 0.5);
  return step;
}
PlainStep beside_a_solved_prompt() {  // of two rollouts with a token each
  PlainStep step = worked_step();
  for (int i = 0; i < 2; ++i)
    step.rollouts.push_back(step.rollouts[1]), step.rollouts.back().group = 1,
                                               step.rollouts.back().reward = 1.0;
  return step;
}
PlainStep with_a_pivot() {  // rewards 1, 0 and 0.2
  PlainStep step = worked_step();
  step.rollouts.push_back(step.rollouts[1]);
  step.rollouts[2].reward = 0.2;
  return step;
}
HandWorked and_untrained(HandWorked numbers, std::size_t tokens, std::function<PlainStep()> step) {
  numbers.derivative.resize(numbers.derivative.size() + tokens, 0.0);
  return on(std::move(numbers), std::move(step));
}
PlainStep one_of_five() {
  PlainStep step = worked_step();
  for (int i = 0; i < 3; ++i) step.rollouts.push_back(step.rollouts[1]);
  return step;
}
PlainStep one_answer_a_mode() {  // token 0 opens thinking; the first ratio is 2, above the bound
                                 // 1.5
  PlainStep step = worked_step();
  step.rollouts[0].token = {0, 5}, step.rollouts[1].token = {3};
  step.rollouts[0].now[0] = 0.0;
  return step;
}

}  // namespace

HandWorkedTable worked_baselines() {
  const double virtual_best = (1.0 / 3) / (1 / std::sqrt(3.0) + 1e-6),
               mean_norm = 0.5 / (0.5 + 1e-6), lead = 1 / (s + 1e-6);
  const double component = 0.5 / (s + 1e-4);
  return {
      // First step: baseline 0, A = 1 and 0. -(ln 0.75 + ln 0.45) over two rollouts.
      {"reinforce", {-(l0 + l1) / 2, {-0.5, -0.5, 0.0}}},
      // Token advantages 1/2, 1/2, -1/2: mean 1/6; 1/3, 1/3, -2/3; spread sqrt((1/9 + 1/9 + 4/9) /
      // 3) = sqrt(2)/3. A = s, s, -2s.
      {"reinforce_plus_plus_baseline", {by_tokens(s, -2 * s)}},
      // A = 1 - 1 and 0 - 1.
      {"remax", {l2 / 2, {0.0, 0.0, 0.5}, greedy_solved}},
      // Baseline (2 * 1 + 1 * 0) / 3 = 2/3. A = 1/3, -2/3.
      {"opo", {(-l0 / 3 - l1 / 3 + 2 * l2 / 3) / 3, {-1.0 / 9, -1.0 / 9, 2.0 / 9}}},
      // The solved prompt's two rollouts teach nothing: alpha = 4 / 2; A = 2 * (+-1/2), over five
      // tokens.
      {"gpg",
       {(-l0 - l1 + l2) / 5, {-1.0 / 5, -1.0 / 5, 1.0 / 5, 0.0, 0.0}, beside_a_solved_prompt}},
      // (1 - 1/2) / (1/2 + 1e-6) and its negative.
      {"maxrl", {by_tokens(mean_norm, -mean_norm)}},
      // (1 - 0) / (s + 1e-6) for the best, 0 for the other.
      {"grpo_passk", {by_tokens(lead, 0.0)}},
      // C(4,4)/C(5,4) = 1/5; spread sqrt(1/5 * 4/5) = 2/5; success (1/5) / (2/5) = 1/2; failure
      // (1/5 - C(3,3)/C(4,3)) / (2/5) = (1/5 - 1/4) / (2/5) = -1/8. Six tokens: -1.2/2 - 0.9/2 + 4
      // * 1.1/8 = -0.5.
      {"passk_training",
       {-0.5 / 6, {0.0, -0.45 / 6, 0.1375 / 6, 0.1375 / 6, 0.1375 / 6, 0.1375 / 6}, one_of_five}},
      // ceil(0.4 * 2) = 1: the smaller reward, 0, is the baseline.
      {"qae", {by_tokens(lead, 0.0, 1.28)}},
      // Every token has energy 1 - 2/2 + 1/2 = 1/2. First place: b = (1 * 1/2 + 0) / 1 = 1/2;
      // second place: one rollout, b = 0, A = 1.
      // (-1.2/2 - 0.9 + 1.1/2) / 3 = -0.95 / 3.
      {"optimal_token_baseline", {-0.95 / 3, {0.0, -0.3, 0.55 / 3}, even_odds}},
      // The success alone, 1 in front of its log-prob, mean over its two tokens.
      {"raft", {-(l0 + l1) / 2, {-0.5, -0.5, 0.0}}},
      // Median 0.2, deviations 0.8, 0.2, 0: their median 0.2. A = (0.8, -0.2, 0) / 0.201 * 3 / 2;
      // the pivot leaves. The reference is the old policy.
      {"mc-grpo",
       {and_untrained(
           with_divergence(by_rollouts(1.2 / 0.201, -0.3 / 0.201), 0.04, {0.25, 0.25, 0.5}), 1,
           with_a_pivot)}},
      // One prompt: alpha = beta = 1, density 1, A = +-1/2. Rollout 0: -(1.28 + 0.9)/2 = -1.09;
      // rollout 1: 0.55; over two: -0.27.
      {"bnpo", {-0.27, {0.0, -0.225, 0.275}}},
      {"psr-nsr-w-reinforce", {by_tokens(0.1, -1.0)}},
      // Rewards 1, 0, 1: mean 2/3; squares (1 + 4 + 1) / 9 over 2 = 1/3. A = (1/3, -2/3) /
      // (1/sqrt(3) + 1e-6).
      {"ngrpo", {by_tokens(virtual_best, -2 * virtual_best, 1.24)}},
      // Tokens 1/2, 1/2, -1/2: mean 1/6; 1/3, 1/3, -2/3; spread sqrt((6/9) / 2) = 1/sqrt(3), which
      // the solved prompt does not narrow. A = 1/sqrt(3), -2/sqrt(3); 0.0005 k3 with derivatives 1
      // - 1/rho. (-1.28 - 0.9 + 2.2) / sqrt(3).
      {"dler",
       {(0.02 / std::sqrt(3.0) +
         0.0005 * (1 / 1.5 + 1 / 0.9 + 1 / 1.1 - 3 + std::log(1.5 * 0.9 * 1.1))) /
            3,
        {0.0005 / 9, -0.3 / std::sqrt(3.0) - 0.0005 / 27, 2.2 / 3 / std::sqrt(3.0) + 0.0005 / 33,
         0.0, 0.0},
        beside_a_solved_prompt}},
      // Spread of the rewards 1, 0 with n - 1: s = 1/sqrt(2), so A = +-1/2 over s, which is s
      // again.
      {"lite-ppo", {by_tokens(s, -s)}},
      // Answers of each prompt agree: H = 0, w = sigmoid(-30) < 1e-13. Prompt means 1, 0: mean 1/2,
      // spread s with n - 1.
      {"copo", {on(by_rollouts(grpo, -grpo), apart)}},
      // One prompt a bundle. lo = 1, hi = 4. Score 1: not below lo, nothing above it: 0. Score 0:
      // tail -1 / 0.2 = -5, (1.5 * -5 + 0) / 2.5 = -3, all its own, over the spread of 1 and 0.
      {"riskpo", {by_tokens(0.0, -3.0 / (s + 1e-6))}},
      // x = +-0.5 / (s + 1e-4), mean 0, spread sqrt(2) x with n - 1.
      {"gdpo",
       {by_rollouts(component / (component / s + 1e-4), -component / (component / s + 1e-4))}},
      // V = 0, mean 1/2, q = 1/4/2 = 1/8, D = 1/4 - 1/8 = 1/8, w = 1/2, baseline 1/4.
      {"v0-5", {on(by_tokens(0.75, -0.25), [] { return with_prediction(0.0); })}},
      // 1 - 0.2 = 0.8, 0 - 0.6 = -0.6; mean 0.1; +-0.7 over 0.7 sqrt(2), the spread with n - 1.
      {"spo-single-stream", {on(by_tokens(s, -s, 1.28), [] { return with_prior(0.2, 0.6); })}},
      // The group's own mean, 1/2, whatever is expected of the prompt; no bound: -(1.5 + 0.9) / 2 /
      // 4 + 1.1 / 2 / 2 = -0.025.
      {"pcl", {-0.025, {-0.1875, -0.1125, 0.275}, [] { return with_prior(0.25, 0.25); }}},
      // One success of two: a hard prompt. Outcomes 4 and -1: mean 1.5, spread 2.5, A = +-1.
      {"wgrpo", {by_rollouts(1.0, -1.0)}},
      // A = +-1/2 over B H = 2 * 10: (-1.2 - 0.9 + 1.1) / 40.
      {"dars", {-0.025, {0.0, -0.0225, 0.0275}}},
      // A = +-1/2 over a spread of 1/2: that of the prompt that stays. Three tokens of one prompt;
      // all ratios lie under the cap of 5 and weigh their log-probs whole.
      {"scalerl",
       {(-1.5 * std::log(0.75) - 0.9 * std::log(0.45) + 1.1 * std::log(0.55)) / 3,
        {-0.5, -0.3, 1.1 / 3, 0.0, 0.0},
        beside_a_solved_prompt}},
      // Best of each mode is its only answer: norm 0. Thinking wins by 1 > 0.2: first tokens
      // +-grpo, second token 0. Ratios 2 -> 1.5, and 1.1: (-1.5 grpo + 1.1 grpo) / 2 = -0.2 grpo.
      // k3 = 1/rho + ln rho - 1, each token over two rollouts; its derivative 1 - 1/rho.
      {"lhrm-hgpo",
       {-0.2 * grpo + 0.001 *
                          ((0.5 + std::log(2.0) - 1) + (1 / 0.9 + std::log(0.9) - 1) +
                           (1 / 1.1 + std::log(1.1) - 1)) /
                          2,
        {0.001 * 0.5 / 2, -0.001 / 9 / 2, 0.55 * grpo + 0.001 / 11 / 2},
        one_answer_a_mode}},
  };
}

}  // namespace rollcall::objective::test
