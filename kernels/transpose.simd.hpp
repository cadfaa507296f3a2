// Transposes in registers. They turn the products of the backward pass into products of the forward
// form.
#pragma once

#include "kernels/packing.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

static void transpose(const float* x, std::int64_t n, std::int64_t stride, std::int64_t count,
                      float* y) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    for (std::int64_t j = 0; j < count; j += kLanes) {
      const std::int64_t rows = n - i < kLanes ? n - i : kLanes,
                         columns = count - j < kLanes ? count - j : kLanes;
      Vec block[kLanes];
      for (std::int64_t r = 0; r < kLanes; ++r)
        block[r] = r < rows ? load_up_to(x + (i + r) * stride + j, columns) : splat(0.0F);
      transpose(block);
      for (std::int64_t c = 0; c < columns; ++c) store_up_to(y + (j + c) * n + i, rows, block[c]);
    }
}

static void pack_transposed_fp32(const float* w, std::int64_t k, std::int64_t o, std::int64_t begin,
                                 std::int64_t end, void* packed) {
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kLanes;
    float* into = static_cast<float*>(packed) + first * k;
    for (std::int64_t j = 0; j < k; ++j)
      store(into + j * kLanes, load_up_to(w + j * o + first, o - first));
  }
}

/// Two rows of w at a time are rounded and interleaved, because a row of w is one input.
static void pack_transposed_bf16(const float* w, std::int64_t k, std::int64_t o, std::int64_t begin,
                                 std::int64_t end, void* packed) {
  const std::int64_t inputs = (k + kBf16Block - 1) / kBf16Block * kBf16Block;
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kLanes;
    Bf16* into = static_cast<Bf16*>(packed) + first * inputs;
    const auto row = [&](std::int64_t j) {
      return j < k ? rounded_to_bf16(load_up_to(w + j * o + first, o - first)) : splat(0.0F);
    };
    for (std::int64_t j = 0; j < inputs; j += 2) store_pairs(into + j * kLanes, row(j), row(j + 1));
  }
}

/// Loads the transpose of rows [first, first + 16) and columns [j, j + 16) of w[o,k], with zeros
/// beyond o and k.
static inline void load_transposed(const float* w, std::int64_t o, std::int64_t k,
                                   std::int64_t first, std::int64_t j, Vec (&block)[kLanes]) {
  for (std::int64_t r = 0; r < kLanes; ++r)
    block[r] = first + r < o && j < k ? load_up_to(w + (first + r) * k + j, k - j) : splat(0.0F);
  transpose(block);
}

static void pack_rows_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  for (std::int64_t first = 0; first < o; first += kLanes) {
    float* into = static_cast<float*>(packed) + first * k;
    for (std::int64_t j = 0; j < k; j += kLanes) {
      Vec block[kLanes];
      load_transposed(w, o, k, first, j, block);
      for (std::int64_t c = 0; c < kLanes && j + c < k; ++c)
        store(into + (j + c) * kLanes, block[c]);
    }
  }
}

static void pack_rows_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  const std::int64_t inputs = (k + kBf16Block - 1) / kBf16Block * kBf16Block;
  for (std::int64_t first = 0; first < o; first += kLanes) {
    Bf16* into = static_cast<Bf16*>(packed) + first * inputs;
    for (std::int64_t j = 0; j < inputs; j += kLanes) {
      Vec block[kLanes];
      load_transposed(w, o, k, first, j, block);
      for (std::int64_t c = 0; c < kLanes; c += 2)
        store_pairs(into + (j + c) * kLanes, rounded_to_bf16(block[c]),
                    rounded_to_bf16(block[c + 1]));
    }
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
