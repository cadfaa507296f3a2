// Packed matrices turned into those of their transpose, and adapters merged into rows of a matrix
// (Hu et al. 2021).
#pragma once

#include "kernels/bf16.hpp"
#include "kernels/packing.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

static void turn_panels_fp32(const void* panels, std::int64_t o, std::int64_t k, std::int64_t begin,
                             std::int64_t end, void* packed) {
  for (std::int64_t panel = begin; panel < end; ++panel)
    for (std::int64_t from = 0; from < o; from += kLanes) {
      const float* source = static_cast<const float*>(panels) + from * k;
      float* into = static_cast<float*>(packed) + (panel * o + from) * kLanes;
      Vec block[kLanes];  // a vector for each column of W, then for each row
      for (std::int64_t c = 0; c < kLanes; ++c) {
        const std::int64_t column = panel * kLanes + c;
        block[c] = column < k ? load(source + column * kLanes) : splat(0.0F);
      }
      transpose(block);
      for (std::int64_t r = 0; r < kLanes && from + r < o; ++r) store(into + r * kLanes, block[r]);
    }
}

/// Packed matrices are padded to whole panels and blocks, so that pairs are read and written whole.
static void turn_panels_bf16(const void* panels, std::int64_t o, std::int64_t k, std::int64_t begin,
                             std::int64_t end, void* packed) {
  const auto padded = [](std::int64_t inputs) {
    return (inputs + kBf16Block - 1) / kBf16Block * kBf16Block;
  };
  const std::int64_t inputs = padded(k), turned_inputs = padded(o);
  for (std::int64_t panel = begin; panel < end; ++panel)
    for (std::int64_t from = 0; from < turned_inputs; from += kLanes) {
      const Bf16* source =
          static_cast<const Bf16*>(panels) + from * inputs + panel * kLanes * kLanes;
      Bf16* into = static_cast<Bf16*>(packed) + (panel * turned_inputs + from) * kLanes;
      Vec block[kLanes];
      for (std::int64_t c = 0; c < kLanes; c += 2) {
        if (from < o) load_pairs(source + c * kLanes, block[c], block[c + 1]);
        else block[c] = block[c + 1] = splat(0.0F);
      }
      transpose(block);
      for (std::int64_t r = 0; r < kLanes; r += 2)
        store_pairs(into + r * kLanes, block[r], block[r + 1]);
    }
}

/// Up to 16 numbers in bf16.
static inline Vec load_halves(const Bf16* p, std::int64_t count) {
  float values[kLanes] = {};
  const std::int64_t some = count < kLanes ? count : kLanes;
  for (std::int64_t i = 0; i < some; ++i) values[i] = from_bf16(p[i]);
  return load(values);
}
static inline Vec load_row(const float* p, std::int64_t count) { return load_up_to(p, count); }
static inline Vec load_row(const Bf16* p, std::int64_t count) { return load_halves(p, count); }

/// kVectors vectors of a row of W and of A, whose rows are k floats apart. The last vector may be a
/// part of one.
template <int kVectors, class Weight>
static inline void merge_columns(const Weight* w, std::int64_t count, const float* b,
                                 const float* a, std::int64_t k, std::int64_t rank, float scale,
                                 float* out) {
  Vec sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = load_row(w + v * kLanes, count - v * kLanes);
  for (std::int64_t i = 0; i < rank; ++i) {
    const float factor = scale * b[i];
    if (factor == 0.0F) continue;
    for (int v = 0; v < kVectors; ++v)
      sum[v] = fma(splat(factor), load_up_to(a + i * k + v * kLanes, count - v * kLanes), sum[v]);
  }
  for (int v = 0; v < kVectors; ++v) store_up_to(out + v * kLanes, count - v * kLanes, sum[v]);
}

/// Four vectors at a time hide the latency of FMA.
template <class Weight>
static void merge(const Weight* w, std::int64_t rows, std::int64_t k, const float* b,
                  const float* a, std::int64_t rank, float scale, float* out) {
  for (std::int64_t r = 0; r < rows; ++r, w += k, b += rank, out += k) {
    std::int64_t j = 0;
    for (; j + 4 * kLanes <= k; j += 4 * kLanes)
      merge_columns<4>(w + j, 4 * kLanes, b, a + j, k, rank, scale, out + j);
    for (; j < k; j += kLanes) merge_columns<1>(w + j, k - j, b, a + j, k, rank, scale, out + j);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
