// Backward of causal attention over one sequence. Probabilities are recomputed as in the forward; sums run over queries in ascending order.
#pragma once

#include "kernels/attention.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

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

/// One query row of one head: pointers to its own vectors and to key row 0 of its key head.
struct BackwardRow {
  const float *q, *k, *v, *dout;  // q, dout [d]; k, v rows `stride` apart
  float *dq, *dk, *dv;
  std::int64_t keys, stride, dim;
};

/// ds[j] = p_j (dp_j - sum p dp) scale with dp_j = dout . v_j; p[j] normalised in place. Both padded to whole vectors.
template <int kDim>
static inline void score_gradients(const BackwardRow& a, float scale, float* p, float* ds) {
  const Vec total = splat(softmax_weights<kDim>(a.q, a.k, a.stride, a.keys, a.dim, scale, p));
  Vec mean = splat(0.0F);
  for (std::int64_t j = 0; j < a.keys; j += kLanes) {
    const Vec probability = load(p + j) / total;
    const Vec dp = dot_products<kDim>(a.dout, a.v + j * a.stride, a.stride, a.keys - j, a.dim);
    mean = fma(probability, dp, mean);
    store(p + j, probability);
    store(ds + j, dp);
  }
  const Vec pull = splat(fold_sum(mean)), by = splat(scale);
  for (std::int64_t j = 0; j < a.keys; j += kLanes) store(ds + j, load(p + j) * (load(ds + j) - pull) * by);
}

template <int kDim>
static inline void attention_backward_row(const BackwardRow& a, float* p, float* ds) {
  const std::int64_t d = kDim ? kDim : a.dim;
  score_gradients<kDim>(a, 1.0F / __builtin_sqrtf(static_cast<float>(d)), p, ds);
  for (std::int64_t c = 0; c < d; c += kLanes) {
    const std::int64_t count = d - c;
    const Vec q = load_up_to(a.q + c, count), dout = load_up_to(a.dout + c, count);
    Vec dq = splat(0.0F);
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const std::int64_t at = j * a.stride + c;
      const Vec score = splat(ds[j]);
      dq = fma(score, load_up_to(a.k + at, count), dq);
      store_up_to(a.dk + at, count, fma(score, q, load_up_to(a.dk + at, count)));
      store_up_to(a.dv + at, count, fma(splat(p[j]), dout, load_up_to(a.dv + at, count)));
    }
    store_up_to(a.dq + c, count, dq);
  }
}

struct SequenceGradients {
  const float *q, *k, *v, *dout;
  float *dq, *dk, *dv;
};

template <int kDim>
static void attention_backward_rows(const SequenceGradients& a, std::int64_t t, HeadShape shape, float* p, float* ds) {
  const std::int64_t group = shape.q_heads / shape.kv_heads, stride = shape.kv_heads * shape.head_dim;
  for (std::int64_t h = 0; h < shape.q_heads; ++h)
    for (std::int64_t i = 0; i < t; ++i) {
      const std::int64_t at = (i * shape.q_heads + h) * shape.head_dim, from = h / group * shape.head_dim;
      const BackwardRow row{a.q + at, a.k + from, a.v + from, a.dout + at, a.dq + at, a.dk + from, a.dv + from, i + 1, stride, shape.head_dim};
      attention_backward_row<kDim>(row, p, ds);
    }
}

static void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v, const float* dout, std::int64_t t, HeadShape shape,
                               float* dq, float* dk, float* dv) {
  const std::int64_t kv_floats = t * shape.kv_heads * shape.head_dim, padded = whole_vectors(t);
  for (std::int64_t i = 0; i < kv_floats; ++i) dk[i] = dv[i] = 0.0F;
  float* p = context.workspace.floats(static_cast<std::size_t>(2 * padded));
  const SequenceGradients a{q, k, v, dout, dq, dk, dv};
  switch (shape.head_dim) {
    case 32: return attention_backward_rows<32>(a, t, shape, p, p + padded);
    case 64: return attention_backward_rows<64>(a, t, shape, p, p + padded);
    case 128: return attention_backward_rows<128>(a, t, shape, p, p + padded);
    default: return attention_backward_rows<0>(a, t, shape, p, p + padded);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
