// Log-probability of a target, entropy and log-sum-exp of each row of logits, and the backward of the first two.
#pragma once

#include "kernels/execution_context.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr float kBelowAllLogits = -3.0e38F;  // stands in the lanes beyond the vocabulary; its exp is 0
inline constexpr float kLogFloor = -104.0F;         // least log-probability that is multiplied by its exp, which is 0 from -87 down: keeps 0 * -inf out

/// Largest scaled logit of a row.
static inline float scaled_max(const float* logits, std::int64_t v, Vec scale) {
  Vec largest = splat(kBelowAllLogits);
  for (std::int64_t j = 0; j < v; j += kLanes) largest = max(largest, load_up_to(logits + j, v - j, kBelowAllLogits) * scale);
  return fold_max(largest);
}

/// With x = z - max z and s = sum exp x: lse = max z + ln s, logprob = x[target] - ln s, entropy = ln s - sum(x exp x) / s.
static void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                          float* logprob, float* entropy, float* lse) {
  const Vec scale = splat(inverse_temperature);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = logits + i * v;
    const float largest = scaled_max(row, v, scale);
    Vec sum = splat(0.0F), weighted = splat(0.0F);
    for (std::int64_t j = 0; j < v; j += kLanes) {
      // As the first operand of max the floor lets a NaN through.
      const Vec x = max(splat(kLogFloor), load_up_to(row + j, v - j, kBelowAllLogits) * scale - splat(largest));
      const Vec e = exp_nonpositive(x);
      sum = sum + e;
      weighted = fma(e, x, weighted);
    }
    const float total = fold_sum(sum), log_total = log_positive(total);
    lse[i] = largest + log_total;
    entropy[i] = log_total - fold_sum(weighted) / total;
    logprob[i] = target[i] < 0 ? 0.0F : row[target[i]] * inverse_temperature - largest - log_total;
  }
}

/// dz = dlogprob (onehot - p) - dentropy p (ln p + H).
static void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature,
                                   const std::int32_t* target, const float* lse, const float* entropy, const float* dlogprob, const float* dentropy,
                                   float* dlogits) {
  const Vec scale = splat(inverse_temperature);
  for (std::int64_t i = 0; i < n; ++i) {
    const float through_logprob = target[i] < 0 ? 0.0F : dlogprob[i];
    const Vec h = splat(entropy[i]), dh = splat(dentropy[i]), dl = splat(through_logprob), minus_scale = splat(-inverse_temperature);
    for (std::int64_t j = 0; j < v; j += kLanes) {
      const Vec log_p = max(splat(kLogFloor), load_up_to(logits + i * v + j, v - j) * scale - splat(lse[i]));
      const Vec p = exp_nonpositive(log_p);
      store_up_to(dlogits + i * v + j, v - j, minus_scale * (p * fma(dh, log_p + h, dl)));
    }
    if (target[i] >= 0) dlogits[i * v + target[i]] = fma(inverse_temperature, through_logprob, dlogits[i * v + target[i]]);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
