// y = x W^T + bias over packed panels. Every output is one chain of FMAs over ascending k, so
// its bits do not depend on how rows are grouped.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

// A tile has kTileRows x kTilePanels accumulators. They fill the registers, and are enough to hide
// the latency of FMA (4 cycles, at best two FMAs per cycle).
#if defined(__AVX512F__)
inline constexpr int kTileRows = 8, kTilePanels = 3;  // 24 of 32 registers for sums, 3 for W
#elif defined(__AVX2__)
inline constexpr int kTileRows = 6,
                     kTilePanels = 1;  // 12 of 16 registers for sums, 2 W, 1 x
#else
inline constexpr int kTileRows = 4, kTilePanels = 1;
#endif

struct LinearOperands {
  const float *x, *packed, *bias;
  float* y;
  std::int64_t k, o;
};

/// What a tile of rows prefetches while it computes: its share of the panels after its own, as a
/// number of bytes per input.
struct Ahead {
  const char* at;
  std::int64_t step;
};

/// With only one tile of rows, memory is the limit. The tile prefetches weights this many bytes
/// ahead, even beyond the end of a product, where the next product's weights are.
inline constexpr std::int64_t kFarAheadBytes = 32768;

/// Computes y[row .. row+kRows) for the kPanels panels from `panel` on.
template <int kRows, int kPanels>
static inline void linear_tile(const LinearOperands& a, std::int64_t row, std::int64_t panel,
                               Ahead ahead) {
  const std::int64_t k = a.k, panel_floats = k * kLanes;
  const float* x = a.x + row * k;
  const float* w = a.packed + panel * panel_floats;
  Vec sum[kRows][kPanels];
#pragma GCC unroll kUnroll
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll kUnroll
    for (int p = 0; p < kPanels; ++p) {
      sum[r][p] = splat(0.0F);
      // Outputs that are in no cache would have to be fetched before they can be written.
      __builtin_prefetch(a.y + (row + r) * a.o + (panel + p) * kLanes, 1);
    }
  for (std::int64_t j = 0; j < k; ++j, ahead.at += ahead.step) {
    if constexpr (kRows > 1) __builtin_prefetch(ahead.at);  // no gain for a single row
    Vec column[kPanels];
#pragma GCC unroll kUnroll
    for (int p = 0; p < kPanels; ++p) column[p] = load(w + p * panel_floats + j * kLanes);
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) {
      const Vec value = splat(x[r * k + j]);
#pragma GCC unroll kUnroll
      for (int p = 0; p < kPanels; ++p) sum[r][p] = fma(value, column[p], sum[r][p]);
    }
  }
#pragma GCC unroll kUnroll
  for (int p = 0; p < kPanels; ++p) {
    const std::int64_t first_output = (panel + p) * kLanes;
    const Vec bias = a.bias ? load_up_to(a.bias + first_output, a.o - first_output) : splat(0.0F);
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) {
      const Vec y = a.bias ? sum[r][p] + bias : sum[r][p];
      store_up_to(a.y + (row + r) * a.o + first_output, a.o - first_output, y);
    }
  }
}

/// Chooses the compiled tile for `rows` in 1..kRows.
template <int kRows, int kPanels>
static inline void linear_rows(const LinearOperands& a, std::int64_t row, std::int64_t rows,
                               std::int64_t panel, Ahead ahead) {
  if (rows == kRows) linear_tile<kRows, kPanels>(a, row, panel, ahead);
  else if constexpr (kRows > 1) linear_rows<kRows - 1, kPanels>(a, row, rows, panel, ahead);
}

/// All n rows of `kPanels` panels, which stay in the first-level cache meanwhile. Tiles get about
/// the same number of rows: 9 rows are 5 + 4, not 8 + 1.
template <int kPanels>
static void linear_panels(const LinearOperands& a, std::int64_t n, std::int64_t panel) {
  const std::int64_t blocks = (n + kTileRows - 1) / kTileRows,
                     bytes = kPanels * a.k * kLanes * std::int64_t(sizeof(float));
  const auto* own = reinterpret_cast<const char*>(a.packed + panel * a.k * kLanes);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin = n * b / blocks, end = n * (b + 1) / blocks;
    const Ahead ahead =
        blocks == 1 ? Ahead{own + kFarAheadBytes, bytes / a.k}
                    : Ahead{own + bytes + bytes * b / blocks, (bytes / a.k + blocks - 1) / blocks};
    linear_rows<kTileRows, kPanels>(a, begin, end - begin, panel, ahead);
  }
}

/// Calls visit(product, begin, end) for the panels of each product that are in [begin, end),
/// counted through all products.
template <class Visit>
static inline void each_product(const Product* products, int count, std::int64_t begin,
                                std::int64_t end, const Visit& visit) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t panels = panels_of(products[i].o), last = end < panels ? end : panels;
    if (begin < last) visit(products[i], begin > 0 ? begin : 0, last);
    begin -= panels, end -= panels;
  }
}

static void linear(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k,
                   const Product* products, int count, int, std::int64_t begin, std::int64_t end) {
  each_product(
      products, count, begin, end,
      [&](const Product& product, std::int64_t panel, std::int64_t last) {
        const LinearOperands operands{
            x, static_cast<const float*>(product.packed), product.bias, product.y, k, product.o};
        for (; panel + kTilePanels <= last; panel += kTilePanels)
          linear_panels<kTilePanels>(operands, n, panel);
        if constexpr (kTilePanels > 2)
          if (last - panel == 2) linear_panels<2>(operands, n, panel);
        if constexpr (kTilePanels > 1)
          if (last - panel == 1) linear_panels<1>(operands, n, panel);
      });
}

/// The products of attention with its pages: c[panel][row][16] += x[row][k] panel[k][16], with one
/// chain per output. Panels come one after another, and those of c are 16 rows apart.
struct Fp32Products {
  using Input = float;
  using Weight = float;
  struct Scope {};
  static std::int64_t parts(std::int64_t k) { return k; }
  static std::int64_t panel_weights(std::int64_t k) { return k * kLanes; }
  static void prepare(const float* row, std::int64_t k, Input* out) {
    __builtin_memcpy(out, row, static_cast<std::size_t>(k) * sizeof(float));
  }
  static Vec rounded(Vec a) { return a; }

  /// Adds `inputs` <= k inputs. The length of the panels is k.
  template <int kRows, int kPanels>
  static inline void tile(const Input* x, std::int64_t stride, const Weight* panel, std::int64_t k,
                          std::int64_t inputs, float* c) {
    Vec sum[kPanels][kRows];
#pragma GCC unroll kUnroll
    for (int p = 0; p < kPanels; ++p)
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) sum[p][r] = load(c + (p * 16 + r) * kLanes);
    for (std::int64_t j = 0; j < inputs; ++j)
#pragma GCC unroll kUnroll
      for (int p = 0; p < kPanels; ++p) {
        const Vec w = load(panel + p * k * kLanes + j * kLanes);
#pragma GCC unroll kUnroll
        for (int r = 0; r < kRows; ++r) sum[p][r] = fma(splat(x[r * stride + j]), w, sum[p][r]);
      }
#pragma GCC unroll kUnroll
    for (int p = 0; p < kPanels; ++p)
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) store(c + (p * 16 + r) * kLanes, sum[p][r]);
  }
  /// Few rows take several panels at a time, so that there are enough chains to hide the latency of
  /// FMA.
  template <int kRows>
  static inline void rows_of(const Input* x, std::int64_t stride, std::int64_t rows,
                             const Weight* panel, std::int64_t panels, std::int64_t k,
                             std::int64_t inputs, float* c) {
    if constexpr (kRows > 1)
      if (rows < kRows) return rows_of<kRows - 1>(x, stride, rows, panel, panels, k, inputs, c);
    constexpr int together = kTileRows / kRows >= 4 ? 4 : kTileRows / kRows >= 2 ? 2 : 1;
    std::int64_t p = 0;
    for (; p + together <= panels; p += together)
      tile<kRows, together>(x, stride, panel + p * k * kLanes, k, inputs, c + p * 16 * kLanes);
    for (; p < panels; ++p)
      tile<kRows, 1>(x, stride, panel + p * k * kLanes, k, inputs, c + p * 16 * kLanes);
  }
  static void add(const Input* x, std::int64_t stride, std::int64_t rows, const Weight* panel,
                  std::int64_t panels, std::int64_t k, std::int64_t inputs, float* c) {
    for (; rows > 0; rows -= kTileRows, x += kTileRows * stride, c += kTileRows * kLanes)
      rows_of<kTileRows>(x, stride, rows < kTileRows ? rows : kTileRows, panel, panels, k, inputs,
                         c);
  }
};

}  // namespace rollcall::kernels::ROLLCALL_ISA
