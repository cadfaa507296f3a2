// Hand-worked numbers of the recipes that the common trainers share.
#include "hand_worked.hpp"

namespace rollcall::objective::test {

HandWorkedTable worked_foundation() {
  const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);
  return {
      // A = +-a, a = 0.5 / (0.70710678 + 1e-6) = 0.70710578. Token losses: 1.5 is above 1.2 ->
      // -1.2a (no derivative); -0.9a; +1.1a.
      // Mean of rollout 0: -1.05a; rollout 1: 1.1a; mean of both: 0.025a = 0.01767764.
      // Derivatives L * coefficient, since d rho / d lp = rho: 0; -0.9a / 4; 1.1a / 2.
      {"grpo", {0.01767764, {0.0, -0.9 * a / 4, 1.1 * a / 2}}},
      // A = +-1/2. Sums: rollout 0: -(1.2 + 0.9)/2 = -1.05; rollout 1: 1.1/2 = 0.55; over H = 10
      // and B = 2: -0.5 / 20 = -0.025.
      {"dr_grpo", {-0.025, {0.0, -0.0225, 0.0275}}},
      // A = +-a as grpo. Upper bound 1.28: -1.28a - 0.9a + 1.1a = -1.08a over three tokens: -0.36a
      // = -0.25455808.
      {"dapo", {-0.25455808, {0.0, -0.9 * a / 3, 1.1 * a / 3}}},
      // A = 1 - 0 and 0 - 1. Log-probs ln 0.75, ln 0.45, ln 0.55: (-(ln 0.75 + ln 0.45) + ln 0.55)
      // / 2 = ln(0.55 / 0.3375) / 2 = 0.24417638.
      {"rloo", {0.24417638, {-0.5, -0.5, 0.5}}},
      // Token returns 1, 1, 0: mean 2/3, spread sqrt(2)/3. A = 1/sqrt(2) = s for the first two
      // tokens, -2s for the third.
      // (-1.2s - 0.9s + 2.2s) / 3 = 0.1s / 3 = 0.02357023.
      {"reinforce_plus_plus", {0.02357023, {0.0, -0.9 * s / 3, 2.2 * s / 3}}},
  };
}

}  // namespace rollcall::objective::test
