// Hand-worked numbers of the rows that weigh, choose and average tokens.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);  // grpo's advantages are +-a

HandWorked by_tokens(double a0, double a1, double top) {
  return {-(top * a0 + 0.9 * a0 + 1.1 * a1) / 3, {0.0, -0.9 * a0 / 3, -1.1 * a1 / 3}};
}

PlainStep second_token_open() {  // the second token is the most undecided
  PlainStep step = worked_step();
  step.rollouts[0].current_entropy = {1.0, 2.0};
  return step;
}
PlainStep less_likely_success() {  // log-probs of rollout 0 a factor 1/4 lower, ratios as they were
  PlainStep step = worked_step();
  auto& r = step.rollouts[0];
  for (std::size_t t = 0; t < r.length(); ++t)
    r.old[t] += std::log(0.25), r.now[t] += std::log(0.25);
  r.correct = 1.0;
  return step;
}
PlainStep same_first_token() {
  PlainStep step = worked_step();
  step.rollouts[0].token = {5, 6}, step.rollouts[1].token = {5};
  step.rollouts[0].old_entropy = {0.5, 0.5}, step.rollouts[1].old_entropy = {0.25};
  return step;
}
PlainStep found_in_the_second_step() {  // sure and wrong, then sure and right
  PlainStep step = worked_step();
  auto& r = step.rollouts[0];
  r.reasoning_step = {0, 1}, r.probe_accuracy = {0, 1}, r.probe_confidence = {1, 1};
  step.rollouts[1].reasoning_step = {-1};
  return step;
}
PlainStep moved_from_reference() {
  PlainStep step = worked_step();
  step.rollouts[0].current = {std::log(0.75), std::log(0.6)};
  step.rollouts[1].current = {std::log(0.5)};
  return step;
}

}  // namespace

HandWorkedTable worked_credit() {
  return {
      // Nothing has moved from the reference: softplus(0) = ln 2 on the negative side.
      {"ace-confidence-penalty", {by_tokens(a, -a * (1 + std::log(2.0)), 1.28)}},
      // Tracked 0.2 and 0.6: 0.8 and -0.6, mean 0.1, +-0.7 over a spread of 0.7: +-1. Entropy 1:
      // min(0.4, 1/2) = 0.4 is added to both. 1.5 is bounded at 1.3. 0.01 / 3 times k3 from the
      // reference, which is the old policy: 1 / rho - 1 + ln rho, with derivative 1 - 1 / rho.
      {"mssr",
       {-(1.3 + 0.9) * 1.4 / 3 + 1.1 * 0.6 / 3 +
            0.01 / 3 * (1 / 1.5 + 1 / 0.9 + 1 / 1.1 - 3 + std::log(1.5 * 0.9 * 1.1)),
        {0.01 / 3 * (1 - 1 / 1.5), -0.9 * 1.4 / 3 + 0.01 / 3 * (1 - 1 / 0.9),
         1.1 * 0.6 / 3 + 0.01 / 3 * (1 - 1 / 1.1)},
        [] {
          PlainStep step = worked_step();
          step.rollouts[0].prior = 0.2, step.rollouts[1].prior = 0.6;
          return step;
        }}},
      // One answer on either side: (1/2) / 2 for each token of the first, (1/2) / 1 for the
      // other's.
      {"balanced-aggregation",
       {-(1.2 + 0.9) * a / 4 + 1.1 * a / 2, {0.0, -0.9 * a / 4, 1.1 * a / 2}}},
      // ceil(0.25 * 2) = 1 rollout: no choice of one has a variance, so none of the lowest is
      // taken: the highest. ceil(0.25 * 2) = 1 token: the second.
      {"d3s", {-0.9 * a, {0.0, -0.9 * a, 0.0}, second_token_open}},
      // Multiplicities 2 * 1/1 and 2 * 0/1: of the 2 * 2 + 0 tokens drawn the mean is 3/4 of twice
      // the loss over three.
      {"pf_ppo", {by_tokens(2 * a * 3 / 4, 0.0, 1.2)}},
      // ln p per token ln(1/8) and ln(1/2), mean ln(1/4): eta = 1/2, gain 1/2 < a. A = a + 1/2 and
      // -a.
      {"xrpo",
       {-(1.2 + 0.9) * 1.5 * a / 4 + 1.1 * a / 2,
        {0.0, -0.9 * 1.5 * a / 4, 1.1 * a / 2},
        less_likely_success}},
      // No answer is near the limit 10. ceil(0.2 * 3) = 1 token: the second.
      {"entropy-80-20", {-0.9 * a, {0.0, -0.9 * a, 0.0}, second_token_open}},
      // Mean entropies 1/2 and 1/4: A = 1/2 - 0.05 = 0.45 and -1/2 - 0.025. The shared first token
      // weighs 2 and 0; the last tokens differ; nothing is clipped. (-(2 * 1.5 + 0.9) 0.45 / 2 + 0)
      // / 2.
      {"gtpo", {-3.9 * 0.45 / 4, {-3.0 * 0.45 / 4, -0.9 * 0.45 / 4, 0.0}, same_first_token}},
      // Phi -1 and 1: the second step gained 2, of which half is added.
      {"spae-step-potential",
       {-(1.2 * a + 0.9 * (a + 1) - 1.1 * a) / 3,
        {0.0, -0.9 * (a + 1) / 3, 1.1 * a / 3},
        found_in_the_second_step}},
      // A = 1/2 and, dropped, -1/2. Ratio (0.75 / 0.5)(0.6 / 0.5) = 1.8, inside 1.9. -0.5 * 1.8 *
      // (ln 0.75 + ln 0.45) over the one rollout that stays.
      {"a-lol",
       {-0.9 * (std::log(0.75) + std::log(0.45)), {-0.9, -0.9, 0.0}, moved_from_reference}},
  };
}

}  // namespace rollcall::objective::test
