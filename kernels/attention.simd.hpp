// Softmax attention of single query rows over their keys: one fixed order over keys, so that prefill, decode and training agree bit for bit.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr float kBelowAllScores = -3.0e38F;  // stands in the lanes beyond the keys; its exp is 0

static inline std::int64_t whole_vectors(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// Lane sums of a[d] * row[d]. A dimension known when compiling is kDim, else 0.
template <int kDim>
static inline Vec lane_products(const float* a, const float* row, std::int64_t dim) {
  const std::int64_t d = kDim ? kDim : dim;
  Vec sum = splat(0.0F);
#pragma GCC unroll kUnroll
  for (std::int64_t c = 0; c < d; c += kLanes) sum = fma(load_up_to(a + c, d - c), load_up_to(row + c, d - c), sum);
  return sum;
}

/// Lane j is a[d] . rows[j][d], rows `stride` floats apart; lanes from `count` on are 0.
template <int kDim>
static inline Vec dot_products(const float* a, const float* rows, std::int64_t stride, std::int64_t count, std::int64_t dim) {
  Vec sums[kLanes];
  if (count < kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) sums[j] = j < count ? lane_products<kDim>(a, rows + j * stride, dim) : splat(0.0F);
    return fold_sums(sums);
  }
#pragma GCC unroll kUnroll
  for (std::int64_t j = 0; j < kLanes; ++j) sums[j] = lane_products<kDim>(a, rows + j * stride, dim);
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

/// out[d] = sum_j weights[j] rows[j][d] / total. Even and odd keys are summed apart, which halves the chain of dependent FMAs.
template <int kDim>
static inline void weighted_mean(const float* weights, const float* rows, const AttentionRow& row, std::int64_t dim, Vec total, float* out) {
  constexpr std::int64_t width = kDim == 0 ? 1 : kDim == 32 ? 2 : 4;  // vectors of the head summed side by side
  const std::int64_t d = kDim ? kDim : dim;
  for (std::int64_t c = 0; c < d; c += width * kLanes) {
    Vec sum[2][width];
    for (Vec(&part)[width] : sum)
      for (Vec& value : part) value = splat(0.0F);
    const auto add_key = [&](Vec(&part)[width], std::int64_t j) {
      const Vec weight = splat(weights[j]);
#pragma GCC unroll kUnroll
      for (std::int64_t w = 0; w < width; ++w) part[w] = fma(weight, load_up_to(rows + j * row.stride + c + w * kLanes, d - c), part[w]);
    };
    std::int64_t j = 0;
    for (; j + 2 <= row.keys; j += 2) {
      add_key(sum[0], j);
      add_key(sum[1], j + 1);
    }
    if (j < row.keys) add_key(sum[0], j);
    for (std::int64_t w = 0; w < width; ++w) store_up_to(out + c + w * kLanes, d - c, (sum[0][w] + sum[1][w]) / total);
  }
}

template <int kDim>
static inline void attention_row(const float* q, const float* k, const float* v, const AttentionRow& row, std::int64_t dim, float* weights, float* out) {
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(kDim ? kDim : dim));
  const Vec total = splat(softmax_weights<kDim>(q, k, row.stride, row.keys, dim, scale, weights));
  weighted_mean<kDim>(weights, v, row, dim, total, out);
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
