// Hand-worked numbers of the rows that correct for a sampler that is not the old policy.
#include "hand_worked/ratio_steps.hpp"

namespace rollcall::objective::test {
namespace {

/// worked_step() with old over sampler 6 and 1 on the first rollout, 0.6 on the second.
PlainStep mismatched() { return ratio_step({1.5, 0.9}, {1.1}, {6.0, 1.0, 0.6}); }
/// The same with 1.0005 on the second.
PlainStep nearly_matched() { return ratio_step({1.5, 0.9}, {1.1}, {6.0, 1.0, 1.0005}); }

}  // namespace

HandWorkedTable worked_corrections() {
  const double s = 1 / std::sqrt(2.0), a = 0.5 / (s + 1e-6);  // advantages of group_norm: +-a
  const double d = 0.5 / (s + 1e-5), w = 2 * d / 3 / (2 * d / std::sqrt(3.0) + 1e-5);
  const double l1 = std::log(0.75), l2 = std::log(0.45), l3 = std::log(0.55);
  const double r1 = std::log(1.5), r2 = std::log(0.9), r3 = std::log(1.1);
  // grpo on these ratios: token losses -1.2a (no derivative), -0.9a, 1.1a with coefficients 1/4,
  // 1/4, 1/2. The weights multiply them.
  // clang-format off
  return {
      // Weights min(6, 2), 1, 0.6: (-2.4 - 0.9) / 4 + 0.66 / 2 = -0.495.
      {"decoupled_token_is", {-0.495 * a, {0.0, -0.225 * a, 0.33 * a}, mismatched}},
      // Products 6 and 0.6, held at 2: (-2.4 - 1.8) / 4 + 0.33 = -0.72.
      {"decoupled_seq_is", {-0.72 * a, {0.0, -0.45 * a, 0.33 * a}, mismatched}},
      // 6 is outside 0.5 .. 5: weights 0, 1, 0.6: -0.9 / 4 + 0.33 = 0.105.
      {"decoupled_token_icepop", {0.105 * a, {0.0, -0.225 * a, 0.33 * a}, mismatched}},
      // Product 6 is outside 0.5 .. 2: the rollout leaves, B = 1; the other weighs 0.6.
      {"decoupled_seq_is_rs", {0.66 * a, {0.0, 0.0, 0.66 * a}, mismatched}},
      // Geometric means sqrt(6) and 1.0005: the first leaves, the second has no weight.
      {"decoupled_geo_rs", {1.1 * a, {0.0, 0.0, 1.1 * a}, nearly_matched}},
      // Mean k3 of the first: (6 - 1 - ln 6) / 2 = 1.60; of the second: 1.0005 - 1 - ln 1.0005 = 1.2e-7.
      {"decoupled_k3_rs", {1.1 * a, {0.0, 0.0, 1.1 * a}, nearly_matched}},
      // The first weighs 0 but B stays 2; the token of the second weighs 1.0005.
      {"seq_mask_tis", {0.55 * 1.0005 * a, {0.0, 0.0, 0.55 * 1.0005 * a}, nearly_matched}},
      // Product 6 is above 3: weight 0, but B stays 2.
      {"mis", {0.33 * a, {0.0, 0.0, 0.33 * a}, mismatched}},
      // Ratios to the sampler 9, 0.9, 0.66: -1.2a (bounded), -0.9a, and with A < 0 0.8a (bounded): -2.1 / 4 + 0.4 = -0.125.
      {"bypass_ppo_clip", {-0.125 * a, {0.0, -0.225 * a, 0.0}, mismatched}},
      // Products 9 * 0.9 = 8.1, held at 2, and 0.66, on -A lp.
      {"bypass_pg_is", {(-2 * (l1 + l2) / 4 + 0.66 * l3 / 2) * a, {-0.5 * a, -0.5 * a, 0.33 * a}, mismatched}},
      // Over tokens: d, d, -d with d = 0.5 / (s + 1e-5); mean d / 3, squares about it 4/9 + 4/9 + 16/9 over 2: spread 2 d / sqrt(3). A = w, w, -2w with
      // w = 1 / sqrt(3) up to the eps. Token weights 0 (6 > 5), 1, 0.6 over three tokens: (-0.9 + 2 * 0.66) / 3 = 0.14.
      {"areal", {0.14 * w, {0.0, -0.3 * w, 0.44 * w}, mismatched}},
      // Second rollout: A < 0 and rollout - current = -ln 0.6 = 0.51: weight 0. The first has A > 0.
      {"opsm", {-0.525 * a, {0.0, -0.225 * a, 0.0}, mismatched}},
      // A = +-1/2; clipped at the sampler's ratios as bypass_ppo_clip, second rollout out: -2.1 / 8. KL: 0.04 rho (1 / r - 1 + ln r) with rho = 9, 0.9,
      // 0.66 and r = 1.5, 0.9, 1.1 over the reference; its derivative is 0.04 rho ln r.
      {"deepseek_v32", {
       -2.1 / 8 + 0.04 * (9 * (1 / 1.5 - 1 + r1) / 4 + 0.9 * (1 / 0.9 - 1 + r2) / 4 + 0.66 * (1 / 1.1 - 1 + r3) / 2),
        {0.04 * 9 * r1 / 4, -0.45 / 4 + 0.04 * 0.9 * r2 / 4, 0.04 * 0.66 * r3 / 2},
        mismatched}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
