// Softmax attention of single query rows over their keys: one fixed order over keys, so that prefill, decode and training agree bit for bit.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr float kBelowAllScores = -3.0e38F;  // stands in the lanes beyond the keys; its exp is 0

static inline std::int64_t whole_vectors(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// Lane j is a[d] . rows[j][d], rows `stride` floats apart; lanes from `count` on are 0. A dimension known when compiling is kDim, else 0.
template <int kDim>
static inline Vec dot_products(const float* a, const float* rows, std::int64_t stride, std::int64_t count, std::int64_t dim) {
  const std::int64_t d = kDim ? kDim : dim;
  Vec sums[kLanes];
  for (std::int64_t j = 0; j < kLanes; ++j) {
    sums[j] = splat(0.0F);
    if (j >= count) continue;
    for (std::int64_t c = 0; c < d; c += kLanes) sums[j] = fma(load_up_to(a + c, d - c), load_up_to(rows + j * stride + c, d - c), sums[j]);
  }
  return fold_sums(sums);
}

/// weights[j] = exp(score_j - max score), padded with zeros to whole vectors; returns their sum.
template <int kDim>
static inline float softmax_weights(const float* q, const float* k, std::int64_t stride, std::int64_t keys, std::int64_t dim, float scale, float* weights) {
  Vec largest = splat(kBelowAllScores);
  for (std::int64_t j = 0; j < keys; j += kLanes) {
    const Vec dots = dot_products<kDim>(q, k + j * stride, stride, keys - j, dim);
    Vec score = dots * splat(scale);
    if (keys - j < kLanes) score = keep_first(score, keys - j, splat(kBelowAllScores));
    largest = max(largest, score);
    store(weights + j, score);
  }
  const Vec top = splat(fold_max(largest));
  Vec sum = splat(0.0F);
  for (std::int64_t j = 0; j < keys; j += kLanes) {
    const Vec e = exp_nonpositive(load(weights + j) - top);
    sum = sum + e;
    store(weights + j, e);
  }
  return fold_sum(sum);
}

template <int kDim>
static inline void attention_row(const float* q, const float* k, const float* v, const AttentionRow& row, std::int64_t dim, float* weights, float* out) {
  const std::int64_t d = kDim ? kDim : dim;
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(d));
  const Vec total = splat(softmax_weights<kDim>(q, k, row.stride, row.keys, dim, scale, weights));
  for (std::int64_t c = 0; c < d; c += kLanes) {
    Vec sum = splat(0.0F);
    for (std::int64_t j = 0; j < row.keys; ++j) sum = fma(splat(weights[j]), load_up_to(v + j * row.stride + c, d - c), sum);
    store_up_to(out + c, d - c, sum / total);
  }
}

template <int kDim>
static void attention_rows(const float* q, const AttentionRow* rows, std::int64_t n, HeadShape shape, float* weights, float* out) {
  const std::int64_t group = shape.q_heads / shape.kv_heads;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = 0; h < shape.q_heads; ++h) {
      const std::int64_t at = (i * shape.q_heads + h) * shape.head_dim, from = h / group * shape.head_dim;
      attention_row<kDim>(q + at, rows[i].k + from, rows[i].v + from, rows[i], shape.head_dim, weights, out + at);
    }
}

static void attention(ExecutionContext& context, const float* q, const AttentionRow* rows, std::int64_t n, HeadShape shape, float* out) {
  std::int64_t most_keys = 0;
  for (std::int64_t i = 0; i < n; ++i) most_keys = rows[i].keys > most_keys ? rows[i].keys : most_keys;
  float* weights = context.workspace.floats(static_cast<std::size_t>(whole_vectors(most_keys)));
  switch (shape.head_dim) {  // loops of known length for the usual sizes; the arithmetic is the same
    case 32: return attention_rows<32>(q, rows, n, shape, weights, out);
    case 64: return attention_rows<64>(q, rows, n, shape, weights, out);
    case 128: return attention_rows<128>(q, rows, n, shape, weights, out);
    default: return attention_rows<0>(q, rows, n, shape, weights, out);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
