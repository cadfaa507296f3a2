// Log-probability of a target, entropy and log-sum-exp of each row of logits, and the backward pass
// of the first two.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// The value of lanes beyond the vocabulary. Its exp is 0.
inline constexpr float kBelowAllLogits = -3.0e38F;
/// Lower log-probabilities are replaced by this one before they are multiplied by their exp, which
/// avoids 0 * -inf. exp is 0 from -87 down.
inline constexpr float kLogFloor = -104.0F;

/// The state of a row after some of its blocks. With x = z - largest it has the sums of exp x and
/// of x exp x.
struct RowSums {
  float largest = kBelowAllLogits, sum = 0.0F, weighted = 0.0F;
};

/// exp(x) for one x <= 0.
static inline float exp_of(float x) { return first(exp_nonpositive(splat(x))); }

/// The sums over one block of `count` logits of a row. `kept` receives the block's exponentials,
/// unless it is nullptr.
static inline RowSums block_sums(const float* logits, std::int64_t count, Vec scale, float* kept) {
  Vec largest = splat(kBelowAllLogits);
  for (std::int64_t j = 0; j < count; j += kLanes)
    largest = max(largest, load_up_to(logits + j, count - j, kBelowAllLogits) * scale);
  RowSums sums;
  sums.largest = fold_max(largest);
  Vec sum = splat(0.0F), weighted = splat(0.0F);
  for (std::int64_t j = 0; j < count; j += kLanes) {
    // The floor is the first operand of max, so that a NaN is not lost.
    const Vec x = max(splat(kLogFloor), load_up_to(logits + j, count - j, kBelowAllLogits) * scale -
                                            splat(sums.largest));
    const Vec e = exp_nonpositive(x);
    sum = sum + e;
    weighted = fma(e, x, weighted);
    if (kept) store_up_to(kept + j, count - j, e);
  }
  sums.sum = fold_sum(sum);
  sums.weighted = fold_sum(weighted);
  return sums;
}

/// Joins two states, relative to the larger of their largest logits.
static inline RowSums joined(RowSums a, RowSums b) {
  const float top = a.largest > b.largest ? a.largest : b.largest;
  const float a_low = a.largest - top < kLogFloor ? kLogFloor : a.largest - top,
              b_low = b.largest - top < kLogFloor ? kLogFloor : b.largest - top;
  const float a_share = exp_of(a_low), b_share = exp_of(b_low);
  return {top, fma(a_share, a.sum, b_share * b.sum),
          fma(a_share, fma(a_low, a.sum, a.weighted), b_share * fma(b_low, b.sum, b.weighted))};
}

/// With x = z - max z and s = sum exp x: lse = max z + ln s, logprob = x[target] - ln s, and
/// entropy = ln s - sum(x exp x) / s. Blocks are joined in ascending order.
static void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                          float inverse_temperature, const std::int32_t* target, float* logprob,
                          float* entropy, float* lse, BlockMass* blocks, float* e) {
  const Vec scale = splat(inverse_temperature);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = logits + i * v;
    RowSums sums;
    for (std::int64_t first = 0; first < v; first += kVocabularyBlock) {
      const RowSums block =
          block_sums(row + first, v - first < kVocabularyBlock ? v - first : kVocabularyBlock,
                     scale, e ? e + i * v + first : nullptr);
      sums = first == 0 ? block : joined(sums, block);
      if (blocks) *blocks++ = {block.largest, block.sum};
    }
    const float log_total = log_positive(sums.sum);
    if (blocks) *blocks++ = {sums.largest, log_total};
    lse[i] = sums.largest + log_total;
    entropy[i] = log_total - sums.weighted / sums.sum;
    logprob[i] =
        target[i] < 0 ? 0.0F : row[target[i]] * inverse_temperature - sums.largest - log_total;
  }
}

/// dz = dlogprob (onehot - p) - dentropy p (ln p + H).
static void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n,
                                   std::int64_t v, float inverse_temperature,
                                   const std::int32_t* target, const float* lse,
                                   const float* entropy, const float* dlogprob,
                                   const float* dentropy, float* dlogits) {
  const Vec scale = splat(inverse_temperature);
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec h = splat(entropy[i]), dh = splat(dentropy[i]), dl = splat(dlogprob[i]),
              minus_scale = splat(-inverse_temperature);
    for (std::int64_t j = 0; j < v; j += kLanes) {
      const Vec log_p =
          max(splat(kLogFloor), load_up_to(logits + i * v + j, v - j) * scale - splat(lse[i]));
      const Vec p = exp_nonpositive(log_p);
      store_up_to(dlogits + i * v + j, v - j, minus_scale * (p * fma(dh, log_p + h, dl)));
    }
    if (target[i] >= 0 && target[i] < v)
      dlogits[i * v + target[i]] =
          fma(inverse_temperature, dlogprob[i], dlogits[i * v + target[i]]);
  }
}

/// Sums are in fp32 within a block and in double over blocks.
static void wide_columns(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                         std::int64_t v, float inverse_temperature, const float* lse,
                         const float* other_lse, float* squares, float* kl) {
  const Vec scale = splat(inverse_temperature);
  for (std::int64_t i = 0; i < n; ++i) {
    double square_sum = 0.0, divergence = 0.0;
    for (std::int64_t first = 0; first < v; first += kVocabularyBlock) {
      const std::int64_t count = v - first < kVocabularyBlock ? v - first : kVocabularyBlock;
      const float* row = logits + i * v + first;
      Vec square = splat(0.0F), gap = splat(0.0F);
      for (std::int64_t j = 0; j < count; j += kLanes) {
        const Vec log_p =
            max(splat(kLogFloor),
                load_up_to(row + j, count - j, kBelowAllLogits) * scale - splat(lse[i]));
        const Vec p = exp_nonpositive(log_p);
        square = fma(p, p, square);
        if (!other) continue;
        const Vec log_q =
            max(splat(kBelowAllLogits),
                load_up_to(other + i * v + first + j, count - j) * scale - splat(other_lse[i]));
        gap = fma(p, log_p - log_q, gap);
      }
      square_sum += fold_sum(square);
      divergence += fold_sum(gap);
    }
    squares[i] = static_cast<float>(square_sum);
    if (other) kl[i] = divergence < 0.0 ? 0.0F : static_cast<float>(divergence);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
