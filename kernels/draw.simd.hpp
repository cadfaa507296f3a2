// What sampling needs from a row of logits: its exponentials, the mass above a threshold, and the
// tokens between two thresholds. Nothing is sorted.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

static void exponentials(ExecutionContext&, const float* logits, std::int64_t v,
                         float inverse_temperature, float largest, float* e) {
  for (std::int64_t j = 0; j < v; j += kLanes)
    store_up_to(e + j, v - j,
                exp_nonpositive(load_up_to(logits + j, v - j) * splat(inverse_temperature) -
                                splat(largest)));
}

/// Calls visit(block, first place, end of its places) for each block of a row.
template <class Visit>
static inline void each_block(std::int64_t v, const Visit& visit) {
  for (std::int64_t first = 0, block = 0; first < v; first += kVocabularyBlock, ++block)
    visit(block, first, v - first < kVocabularyBlock ? v : first + kVocabularyBlock);
}

/// The weights of 16 places. Beyond the block they are lower than any threshold.
static inline Vec weights(const float* e, std::int64_t j, std::int64_t end, Vec factor) {
  return load_up_to(e + j, end - j, -1.0F) * factor;
}

template <class Value>
static void sums_by_value(const float* e, const float* factor, std::int64_t v, const float* least,
                          const Value& value, double* sum) {
  Vec threshold[kThresholds];
  for (int t = 0; t < kThresholds; ++t) threshold[t] = splat(least[t]), sum[t] = 0.0;
  each_block(v, [&](std::int64_t block, std::int64_t first, std::int64_t end) {
    Vec part[kThresholds];
    for (Vec& p : part) p = splat(0.0F);
    for (std::int64_t j = first; j < end; j += kLanes) {
      const Vec w = weights(e, j, end, splat(factor[block]));
#pragma GCC unroll kUnroll
      for (int t = 0; t < kThresholds; ++t) part[t] = add_from(part[t], value(w), w, threshold[t]);
    }
    for (int t = 0; t < kThresholds; ++t) sum[t] += static_cast<double>(fold_sum(part[t]));
  });
}

static void sums_from(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
                      const float* least, bool number, double* sum) {
  const auto one = [](Vec) { return splat(1.0F); };
  const auto itself = [](Vec w) { return w; };
  number ? sums_by_value(e, factor, v, least, one, sum)
         : sums_by_value(e, factor, v, least, itself, sum);
}

static std::int64_t places_between(ExecutionContext&, const float* e, const float* factor,
                                   std::int64_t v, float low, float high, float* sum,
                                   std::int32_t* place) {
  const std::int32_t* begin = place;
  each_block(v, [&](std::int64_t block, std::int64_t first, std::int64_t end) {
    Vec part = splat(0.0F);
    for (std::int64_t j = first; j < end; j += kLanes) {
      const Vec w = weights(e, j, end, splat(factor[block]));
      part = add_from(part, w, w, splat(high));
      for (unsigned inside = less_mask(w, splat(high)) & ~less_mask(w, splat(low)); inside != 0;
           inside &= inside - 1)
        *place++ = static_cast<std::int32_t>(j + __builtin_ctz(inside));
    }
    sum[block] = fold_sum(part);
  });
  return place - begin;
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
