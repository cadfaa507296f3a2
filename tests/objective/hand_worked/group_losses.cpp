// Hand-worked numbers of the losses that couple a group. On the worked step: summed log-ratios q0 =
// ln 1.5 + ln 0.9 = ln 1.35, q1 = ln 1.1,
// gap = q0 - q1 = 0.20479441; mean log-ratios m0 = ln 1.35 / 2 = 0.15005230, m1 = ln 1.1 =
// 0.09531018; the reference is the old policy.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

/// The worked step as the verifier sees it: rollout 0 is right.
PlainStep labelled() {
  PlainStep step = worked_step();
  step.rollouts[0].correct = 1;
  return step;
}

/// The policy that this optimizer step starts from has lost 3e-4 of log-probability on every token.
PlainStep drifted(PlainStep step) {
  for (auto& r : step.rollouts) {
    r.current = r.old;
    for (double& lp : r.current) lp -= 3e-4;
  }
  return step;
}

/// All ratios 1; right answers of one and two tokens, a wrong one of one token; horizon 10.
PlainStep short_and_long() {
  PlainStep step = labelled();
  step.rollouts = {step.rollouts[1], step.rollouts[0], step.rollouts[1]};
  step.rollouts[0].correct = 1, step.rollouts[0].reward = 1;
  for (auto& r : step.rollouts) r.now = r.old;
  return step;
}

/// Training step 100, and an expert's trace of two tokens with probabilities 0.5 and 0.9 in the
/// group.
PlainStep with_expert() {
  PlainStep step = worked_step();
  step.index = 100;
  step.rollouts.push_back(step.rollouts[0]);
  step.rollouts[2].now = {std::log(0.5), std::log(0.9)};
  step.rollouts[2].expert = 1;
  return step;
}

/// The same worked step, but sampled with probabilities 0.6 instead of 0.5: ratios against the
/// sampler 1.25, 0.75 and 11/12.
PlainStep replayed() {
  PlainStep step = worked_step();
  for (auto& r : step.rollouts) {
    for (double& lp : r.rollout) lp = std::log(0.6);
  }
  return step;
}

}  // namespace

HandWorkedTable worked_group_losses() {
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6), q0 = std::log(1.35), q1 = std::log(1.1),
               gap = q0 - q1, half = (q0 - q1) / 2;
  const double x = a - half, y = 0.5 - 0.1 * half, z = 0.5 - half, w0 = 1 / (1 + std::exp(-1.0));
  const double lone = sigmoid(-0.25 * (q0 / 2 - q1)), dpo = sigmoid(-0.1 * gap),
               bce = sigmoid(-gap);
  const double won = 0.25 - 0.001 * q0, lost = -0.25 - 0.001 * q1;
  const double trpa =
      softplus(-0.25 * (q0 / 2 - q1)) + 0.001 / 3 * (1 / 1.5 + 1 / 0.9 + 1 / 1.1 + q0 + q1 - 3);
  const std::vector<double> trpa_slopes{-0.125 * lone + 0.001 / 3 * (1 - 1 / 1.5),
                                        -0.125 * lone + 0.001 / 3 * (1 - 1 / 0.9),
                                        0.25 * lone + 0.001 / 3 * (1 - 1 / 1.1)};
  const double chord = -0.25 * a - 0.125 * (0.25 * std::log(0.5) + 0.09 * std::log(0.9));
  const std::vector<double> chord_slopes{0.0, -0.25 * 0.9 * a, 0.25 * 1.1 * a, -0.125 * 0.25,
                                         -0.125 * 0.09};
  return {
      // Scores: mean lp. Right: ln(0.75 * 0.45) / 2, wrong: ln 0.55; one wrong answer, so
      // log-mean-exp is its score. L = wrong - right = -0.05474212. The hinge: D = 3e-4, c = 1000
      // (3e-4 - 1e-4) = 0.2, times -(ln 1.5 + ln 0.9 + ln 1.1) / 3.  Derivatives: -1/2, -1/2, 1,
      // each - 0.2 / 3.
      {"disco",
       {std::log(0.55) - std::log(0.3375) / 2 - 0.2 / 3 * (q0 + q1),
        {-0.5 - 0.2 / 3, -0.5 - 0.2 / 3, 1 - 0.2 / 3},
        [] { return drifted(labelled()); }}},
      // l = 0.1 and 0.2, lambda = 0.1: weights e^-1 and e^-2 over their sum: 0.7311 and 0.2689. All
      // scores ln 0.5: L = 0. The hinge as
      // above: c = 0.2, times -(ln 1) of four tokens: nothing in the loss, -0.2 / 4 in each
      // derivative.
      {"drpo-decoupled-reward",
       {0.0,
        {-w0 - 0.05, -(1 - w0) / 2 - 0.05, -(1 - w0) / 2 - 0.05, 1.0 - 0.05},
        [] { return drifted(short_and_long()); }}},
      // A = +-a as grpo, centred log-ratios +-gap/2: residuals +-x, x = a - gap/2; mean of squares
      // x^2.  dx0/dq0 = -1/2, dx1/dq0 = 1/2: dL/dq0 = -x. The reference is the old policy: 0.1 k3
      // under 1/4, 1/4, 1/2; derivative 0.1 (1 - 1/rho) = 0.1/3, -0.1/9, 0.1/11 under the same.
      {"deepvideo-r1-reg-grpo",
       {x * x + 0.1 * ((1 / 1.5 + std::log(1.5) - 1) / 4 + (1 / 0.9 + std::log(0.9) - 1) / 4 +
                       (1 / 1.1 + std::log(1.1) - 1) / 2),
        {-x + 0.025 / 3, -x - 0.025 / 9, x + 0.05 / 11}}},
      // h = 0.1 * 2.5 (m0 - m1); -log sigmoid(h); dL/dm0 = -0.25 sigmoid(-h), half of it a token.
      // k3 from old, d = -ln rho: 1/rho + ln rho - 1, times 0.001 / 3; derivative 0.001 / 3 (1 -
      // 1/rho).
      {"trpa", {trpa, trpa_slopes, labelled}},
      // R - 0.1 q: residuals +-y, y = 1/2 - 0.1 gap/2. One pair, (2y)^2 / (n - 1) = 4 y^2, over two
      // rollouts: 2 y^2; dL/dq0 = 4 y (-0.1 / 2) = -0.2 y.
      {"copg", {2 * y * y, {-0.2 * y, -0.2 * y, 0.2 * y}}},
      // psi = +-gap, labels 1 and 0: both terms softplus(-gap); each also sees the other's ratio:
      // dL/dq0 = -sigmoid(-gap).
      {"pacs", {softplus(-gap), {-bce, -bce, bce}, labelled}},
      // log(1 + e^(2 m1)) + log(1 + e^(-2 m0)); dL/dm1 = 2 sigmoid(2 m1); dL/dm0 = -2 sigmoid(-2
      // m0), half of it a token.
      {"real-labels",
       {softplus(2 * q1) + softplus(-q0),
        {-sigmoid(-q0), -sigmoid(-q0), 2 * sigmoid(2 * q1)},
        labelled}},
      // Half of grpo's 0.025 a and of the one pair's softplus(-gap); the derivatives likewise.
      {"dypo",
       {0.0125 * a + 0.5 * softplus(-gap),
        {-0.5 * bce, -0.45 * a / 4 - 0.5 * bce, 0.55 * a / 2 + 0.5 * bce},
        labelled}},
      // mu = 0.5 * 100 / 200 = 0.25. Own: 0.75 of (-1.2 - 0.9 + 1.1) a over 3 tokens (the expert is
      // not in the moments). Expert: p (1 - p) = 0.25 and 0.09 over its 2 tokens.
      {"chord", {chord, chord_slopes, with_expert}},
      // Weights 1.1 p and sqrt(p) on the expert's two tokens, each over 2; own tokens have no loss.
      {"otr",
       {-0.275 * std::log(0.5) - 0.495 * std::log(0.9),
        {0.0, 0.0, 0.0, -0.275, -0.495},
        with_expert}},
      {"diversity-or-precision",
       {-(std::sqrt(0.5) * std::log(0.5) + std::sqrt(0.9) * std::log(0.9)) / 2,
        {0.0, 0.0, 0.0, -std::sqrt(0.5) / 2, -std::sqrt(0.9) / 2},
        with_expert}},
      // beta 0.1, sum of half the squares over n - 1 = 1: y^2; dL/dq0 = 2 y (-0.1 / 2).
      {"gvpo", {y * y, {-0.1 * y, -0.1 * y, 0.1 * y}}},
      // (gap - 1)^2 = 4 z^2; derivative 2 (gap - 1) = -4 z.
      {"rebel", {4 * z * z, {-4 * z, -4 * z, 4 * z}}},
      // h = 0.1 gap.
      {"online_dpo", {softplus(-0.1 * gap), {-0.1 * dpo, -0.1 * dpo, 0.1 * dpo}}},
      // 1 / (2 * 0.1) = 5.
      {"ipo_online", {(gap - 5) * (gap - 5), {2 * (gap - 5), 2 * (gap - 5), -2 * (gap - 5)}}},
      // 1 / (2 * 0.0075) = 200 / 3; the reference is the old policy, so any blend of the two is as
      // well.
      {"inpo",
       {(gap - 200.0 / 3) * (gap - 200.0 / 3),
        {2 * (gap - 200.0 / 3), 2 * (gap - 200.0 / 3), -2 * (gap - 200.0 / 3)}}},
      // Win rates over both, the tie with itself being a half: 3/4 and 1/4, A = +-1/4; residuals A
      // - q / 1000; 500 times the square, mean of two; derivative 500 * 2 (-0.001) / 2 = -1/2 of
      // the residual.
      {"sppo", {250 * (won * won + lost * lost), {-0.5 * won, -0.5 * won, -0.5 * lost}}},
      // Weight 1 - p = 1/2. Right: -ln(rho) / 2. Wrong: (1 - 0.55) / 0.5 = 0.9, floored at 1: value
      // 0, derivative p rho / (1 - p) / 2 = 0.55. Over 3 tokens.
      {"nft", {-q0 / 6, {-0.5 / 3, -0.5 / 3, 0.55 / 3}}},
      // Against the sampler: 1.25 is clipped at 1.2, 0.75 and 11/12 are not. (-1.2 - 0.75 + 11/12)
      // a over 3 tokens.
      {"skywork-r1v2-ssb",
       {(-1.95 + 11.0 / 12) * a / 3, {0.0, -0.25 * a, 11.0 / 36 * a}, replayed}},
      // Around the policy that the step starts from, 1.5 bounded at 1.2, and every token times 0.5
      // / 0.6: 5/6 (-1.2 - 0.9 + 1.1) a over 3 tokens.
      {"dots-rr", {-5.0 / 18 * a, {0.0, -0.25 * a, 5.5 / 18 * a}, replayed}},
  };
}

}  // namespace rollcall::objective::test
