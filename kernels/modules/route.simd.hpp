// The router of experts: logits in fp32, the choice of experts and their weights, and the backward
// pass. A dot product has 16 lanes with k ascending in each, folded as all sums along a row are.
#pragma once

#include "kernels/module_kernels.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

// Rows and experts whose dot products are computed together.
#if defined(__AVX512F__)
inline constexpr std::int64_t kRouteRows = 4, kRouteExperts = 4;
#else
inline constexpr std::int64_t kRouteRows = 2, kRouteExperts = 2;
#endif

struct RouterOperands {
  const float *x, *w, *bias;
  std::int64_t hidden, experts;
  float* logits;
};

template <std::int64_t kRows, std::int64_t kExperts>
static inline void router_tile(const RouterOperands& a, std::int64_t row, std::int64_t expert) {
  Vec sum[kRows][kExperts];
  for (auto& of_row : sum)
    for (Vec& s : of_row) s = splat(0.0F);
  for (std::int64_t j = 0; j < a.hidden; j += kLanes) {
    Vec w[kExperts];
    for (std::int64_t e = 0; e < kExperts; ++e)
      w[e] = load_up_to(a.w + (expert + e) * a.hidden + j, a.hidden - j);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Vec x = load_up_to(a.x + (row + r) * a.hidden + j, a.hidden - j);
      for (std::int64_t e = 0; e < kExperts; ++e) sum[r][e] = fma(x, w[e], sum[r][e]);
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t e = 0; e < kExperts; ++e) {
      const float dot = fold_sum(sum[r][e]);
      a.logits[(row + r) * a.experts + expert + e] = a.bias ? dot + a.bias[expert + e] : dot;
    }
}

template <std::int64_t kRows>
static void router_rows(const RouterOperands& a, std::int64_t row) {
  std::int64_t e = 0;
  for (; e + kRouteExperts <= a.experts; e += kRouteExperts)
    router_tile<kRows, kRouteExperts>(a, row, e);
  for (; e < a.experts; ++e) router_tile<kRows, 1>(a, row, e);
}

/// Sorts ids[count - 1] into the ids before it, which are sorted. before(a, b): a comes first.
template <class Before>
static inline void sort_last(std::int32_t* ids, std::int64_t count, const Before& before) {
  for (std::int64_t j = count - 1; j > 0 && before(ids[j], ids[j - 1]); --j) {
    const std::int32_t id = ids[j];
    ids[j] = ids[j - 1], ids[j - 1] = id;
  }
}

/// The experts with the largest logits, in descending order. With a NaN the choice is arbitrary,
/// but the ids are experts and differ.
static inline void choose_experts(const float* logits, const RouteForm& form, std::int32_t* ids) {
  std::int64_t chosen = 0;
  for (std::int32_t e = 0; e < form.experts; ++e) {
    if (chosen < form.per_token) ids[chosen++] = e;
    else if (logits[e] > logits[ids[chosen - 1]]) ids[chosen - 1] = e;
    else continue;
    sort_last(ids, chosen, [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
  }
}

/// The sum of exp(x - top) over `count` numbers, none of which exceeds `top`. Unless e is nullptr
/// it receives the terms. It may be x.
static inline float exp_sum(const float* x, std::int64_t count, float top, float* e) {
  Vec sum = splat(0.0F);
  for (std::int64_t j = 0; j < count; j += kLanes) {
    Vec v = exp_nonpositive(load_up_to(x + j, count - j) - splat(top));
    if (count - j < kLanes) v = keep_first(v, count - j, splat(0.0F));
    if (e) store_up_to(e + j, count - j, v);
    sum = sum + v;
  }
  return fold_sum(sum);
}
static inline float largest_of(const float* x, std::int64_t count) {
  Vec largest = splat(x[0]);
  for (std::int64_t j = 0; j < count; j += kLanes)
    largest = max(largest, load_up_to(x + j, count - j, x[0]));
  return fold_max(largest);
}

static inline void weigh_experts(const float* logits, const RouteForm& form,
                                 const std::int32_t* ids, float* weights) {
  for (std::int64_t j = 0; j < form.per_token; ++j) weights[j] = logits[ids[j]];
  float top = 0.0F, sum = 0.0F;
  if (form.sums_to_one()) {
    top = largest_of(weights, form.per_token);
    sum = exp_sum(weights, form.per_token, top, nullptr);
  } else {
    top = largest_of(logits, form.experts);
    sum = exp_sum(logits, form.experts, top, nullptr);
  }
  exp_sum(weights, form.per_token, top, weights);
  for (std::int64_t j = 0; j < form.per_token; j += kLanes)
    store_up_to(weights + j, form.per_token - j,
                load_up_to(weights + j, form.per_token - j) / splat(sum));
}

static void route(ExecutionContext&, const float* x, std::int64_t n, std::int64_t hidden,
                  const float* w, const float* bias, const RouteForm& form,
                  const std::uint16_t* record, float* logits, std::int32_t* ids, float* weights) {
  const RouterOperands operands{x, w, bias, hidden, form.experts, logits};
  std::int64_t row = 0;
  for (; row + kRouteRows <= n; row += kRouteRows) router_rows<kRouteRows>(operands, row);
  for (; row < n; ++row) router_rows<1>(operands, row);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* of_row = logits + i * form.experts;
    std::int32_t* chosen = ids + i * form.per_token;
    if (record && record[i * form.per_token] != kNoRecord) {
      for (std::int64_t j = 0; j < form.per_token; ++j) chosen[j] = record[i * form.per_token + j];
    } else {
      choose_experts(of_row, form, chosen);
    }
    for (std::int64_t count = 2; count <= form.per_token; ++count)
      sort_last(chosen, count, [](std::int32_t a, std::int32_t b) { return a < b; });
    weigh_experts(of_row, form, chosen, weights + i * form.per_token);
  }
}

/// d p_e / d l_k = p_e ([e = k] - p_k), over the chosen experts or over all of them.
static void route_backward(ExecutionContext&, const float* logits, std::int64_t n,
                           const RouteForm& form, const std::int32_t* ids, const float* weights,
                           const float* dweights, const RouteLoss& loss, float* dlogits) {
  const std::int64_t experts = form.experts, per_token = form.per_token;
  for (std::int64_t i = 0; i < n; ++i) {
    const float *l = logits + i * experts, *p = weights + i * per_token,
                *dp = dweights + i * per_token;
    float* dl = dlogits + i * experts;
    const bool has_loss = (loss.aux != 0 || loss.z != 0) && loss.times[i] != 0;
    float pull = 0.0F;
    for (std::int64_t j = 0; j < per_token; ++j) pull = fma(p[j], dp[j], pull);
    if (!has_loss && form.sums_to_one()) {
      for (std::int64_t e = 0; e < experts; ++e) dl[e] = 0.0F;
    } else {
      const float top = largest_of(l, experts), mass = exp_sum(l, experts, top, dl);
      float every = form.sums_to_one() ? 0.0F : -pull, balance = 0.0F;
      if (has_loss) {
        every = fma(loss.times[i] * loss.z * 2.0F, top + log_positive(mass), every);
        balance = loss.aux == 0 ? 0.0F : loss.times[i] * loss.aux * static_cast<float>(experts);
      }
      float mean = 0.0F;
      if (balance != 0) {
        Vec sum = splat(0.0F);
        for (std::int64_t e = 0; e < experts; e += kLanes)
          sum = fma(load_up_to(dl + e, experts - e), load_up_to(loss.share + e, experts - e), sum);
        mean = fold_sum(sum) / mass;
      }
      for (std::int64_t e = 0; e < experts; e += kLanes) {
        const std::int64_t left = experts - e;
        Vec slope = splat(every);
        if (balance != 0)
          slope = fma(splat(balance), load_up_to(loss.share + e, left) - splat(mean), slope);
        store_up_to(dl + e, left, load_up_to(dl + e, left) / splat(mass) * slope);
      }
    }
    for (std::int64_t j = 0; j < per_token; ++j)
      dl[ids[i * per_token + j]] =
          fma(p[j], form.sums_to_one() ? dp[j] - pull : dp[j], dl[ids[i * per_token + j]]);
  }
}

/// to += factor from, for `count` numbers. A factor of 0, which most experts have, costs nothing.
static inline void add_scaled(float factor, const float* from, std::int64_t count, float* to) {
  if (factor == 0.0F) return;
  for (std::int64_t j = 0; j < count; j += kLanes)
    store_up_to(to + j, count - j,
                fma(splat(factor), load_up_to(from + j, count - j), load_up_to(to + j, count - j)));
}

static void route_inputs_backward(ExecutionContext&, const float* dlogits, std::int64_t n,
                                  std::int64_t experts, const float* w, std::int64_t hidden,
                                  float* dx) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < hidden; ++j) dx[i * hidden + j] = 0.0F;
    for (std::int64_t e = 0; e < experts; ++e)
      add_scaled(dlogits[i * experts + e], w + e * hidden, hidden, dx + i * hidden);
  }
}

static void route_weights_backward(ExecutionContext&, const float* dlogits, const float* x,
                                   std::int64_t n, std::int64_t experts, std::int64_t hidden,
                                   std::int64_t begin, std::int64_t end, float* dw, float* dbias) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = begin; e < end; ++e) {
      const float d = dlogits[i * experts + e];
      add_scaled(d, x + i * hidden, hidden, dw + e * hidden);
      if (dbias) dbias[e] += d;
    }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
