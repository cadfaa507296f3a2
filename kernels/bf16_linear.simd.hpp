// (long: one order of sums in two ways, tiles and vectors) y = x W^T + bias of the numerics
// bf16_sliced8: x and W rounded to bf16, products exact, sums in fp32 with denormals flushed, in
// this order:
//   block of 32 inputs: two chains of FMAs from 0, over its even and over its odd inputs ascending;
//   then even + odd
//   slice:              from 0, its blocks ascending, each added
//   output:             slices folded by a binary tree: ((0+1)+(2+3))+((4+5)+(6+7)); then the bias
// This is the order of the AMX instruction TDPBF16PS (Intel 64 manual, volume 2). So it gives the
// same bits as chains of vector FMAs, or of VDPBF16PS, which adds the product of its high elements
// first. Slices allow a product to be cut between devices without changing bits.
#pragma once

#include "kernels/bf16.hpp"
#include "kernels/linear.simd.hpp"
#include "kernels/packing.hpp"
#include "kernels/simd.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rollcall::kernels::ROLLCALL_ISA {

/// During its lifetime denormal operands count as 0 and denormal results become 0, as in the bf16
/// instructions.
class FlushedDenormals {
 public:
#if defined(__x86_64__)
  FlushedDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040U); }
  ~FlushedDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#endif
};

struct SlicedOperands {
  const Bf16* panels;
  const float* bias;
  float* y;
  std::int64_t n, o, blocks;  ///< blocks of 32 inputs
  int slices;
  std::int64_t slice_end(int slice) const { return blocks * (slice + 1) / slices; }
};

/// Partial sums of a tile of outputs that wait for their partner in the tree. After slice s, one
/// waits for each one bit of s + 1.
template <int kRows>
struct SliceTree {
  Vec waiting[3][kRows];
  int depth = 0;

  /// Adds a slice. `sum` becomes the sum of the largest subtree that ends with this slice.
  void add(int slice, Vec (&sum)[kRows]) {
    for (int s = slice; s & 1; s >>= 1) {
      --depth;
      for (int r = 0; r < kRows; ++r) sum[r] = waiting[depth][r] + sum[r];
    }
  }
  void wait(const Vec (&sum)[kRows]) {
    for (int r = 0; r < kRows; ++r) waiting[depth][r] = sum[r];
    ++depth;
  }
};

static inline void store_outputs(const SlicedOperands& a, std::int64_t row, std::int64_t panel,
                                 Vec sum) {
  const std::int64_t first = panel * kLanes, left = a.o - first;
  if (a.bias) sum = sum + load_up_to(a.bias + first, left);
  store_up_to(a.y + row * a.o + first, left, sum);
}

#if defined(__AMX_BF16__)

struct __attribute__((packed)) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Rounds a row to bf16 and pads it with zeros.
static inline void round_row(const float* x, std::int64_t k, std::int64_t inputs, Bf16* out) {
  for (std::int64_t j = 0; j < inputs; j += kLanes) {
    const Vec row = j < k ? rounded_to_bf16(load_up_to(x + j, k - j)) : splat(0.0F);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(row.v), 16)));
  }
}

// The rows of a tile, and the bf16 numbers in a block of a panel.
inline constexpr std::int64_t kTileRows16 = 16, kPanelTile = 512;
/// How many elements ahead of the product weights are prefetched.
inline constexpr std::int64_t kAhead = kPanelTile;

/// Sums the tiles of 16 * kRowTiles rows and kPanels panels over blocks [begin, end) into out
/// [kRowTiles][kPanels][16][16].
template <int kRowTiles, int kPanels>
static inline void tile_sums(const Bf16* x, std::int64_t x_stride, const Bf16* w,
                             std::int64_t panel_stride, std::int64_t begin, std::int64_t end,
                             float* out) {
  _tile_zero(0);
  if constexpr (kPanels == 2) _tile_zero(1);
  if constexpr (kRowTiles == 2) _tile_zero(2);
  if constexpr (kRowTiles == 2 && kPanels == 2) _tile_zero(3);
  const auto bytes = static_cast<std::size_t>(x_stride) * sizeof(Bf16);
  for (std::int64_t b = begin; b < end; ++b) {
    const Bf16* tile = w + b * kPanelTile;
    _tile_loadd(4, x + b * 32, bytes);
    _tile_loadd(6, tile, 64);
    if constexpr (kRowTiles == 2) _tile_loadd(5, x + kTileRows16 * x_stride + b * 32, bytes);
    if constexpr (kPanels == 2) _tile_loadd(7, tile + panel_stride, 64);
    for (int line = 0; line < 16; ++line) {
      _mm_prefetch(reinterpret_cast<const char*>(tile + kAhead + line * 32), _MM_HINT_T0);
      if constexpr (kPanels == 2)
        _mm_prefetch(reinterpret_cast<const char*>(tile + panel_stride + kAhead + line * 32),
                     _MM_HINT_T0);
    }
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kPanels == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRowTiles == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kRowTiles == 2 && kPanels == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, out, 64);
  if constexpr (kPanels == 2) _tile_stored(1, out + 256, 64);
  if constexpr (kRowTiles == 2) _tile_stored(2, out + kPanels * 256, 64);
  if constexpr (kRowTiles == 2 && kPanels == 2) _tile_stored(3, out + 768, 64);
}

/// Computes rows [row, row + 16 kRowTiles) of kPanels panels. Only rows below a.n are written.
template <int kRowTiles, int kPanels>
static void sliced_tile(const SlicedOperands& a, const Bf16* x, std::int64_t x_stride,
                        std::int64_t row, std::int64_t panel) {
  constexpr int kParts = kRowTiles * kPanels * 16;
  const std::int64_t panel_stride = a.blocks * kPanelTile;
  alignas(64) float out[kParts * 16];
  SliceTree<kParts> tree;
  Vec sum[kParts];
  std::int64_t begin = 0;
  for (int slice = 0; slice < a.slices; ++slice) {
    tile_sums<kRowTiles, kPanels>(x + row * x_stride, x_stride, a.panels + panel * panel_stride,
                                  panel_stride, begin, a.slice_end(slice), out);
    begin = a.slice_end(slice);
    for (int p = 0; p < kParts; ++p) sum[p] = load(out + p * kLanes);
    tree.add(slice, sum);
    if (slice + 1 < a.slices) tree.wait(sum);
  }
  for (int t = 0; t < kRowTiles; ++t)
    for (int p = 0; p < kPanels; ++p)
      for (std::int64_t r = 0; r < kTileRows16 && row + t * kTileRows16 + r < a.n; ++r)
        store_outputs(a, row + t * kTileRows16 + r, panel + p, sum[(t * kPanels + p) * 16 + r]);
}

template <int kPanels>
static void sliced_panels(const SlicedOperands& a, const Bf16* x, std::int64_t x_stride,
                          std::int64_t panel) {
  std::int64_t row = 0;
  for (; row + kTileRows16 < a.n; row += 2 * kTileRows16)
    sliced_tile<2, kPanels>(a, x, x_stride, row, panel);
  if (row < a.n) sliced_tile<1, kPanels>(a, x, x_stride, row, panel);
}

static void tiled_linear(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                         const Product* products, int count, int slices, std::int64_t begin,
                         std::int64_t end) {
  const FlushedDenormals flushed;
  const std::int64_t blocks = (k + kBf16Block - 1) / kBf16Block, stride = blocks * 32,
                     rows = (n + kTileRows16 - 1) / kTileRows16 * kTileRows16;
  auto* rounded = reinterpret_cast<Bf16*>(
      context.workspace.floats(static_cast<std::size_t>(rows * stride / 2)));
  for (std::int64_t r = 0; r < rows; ++r)
    round_row(x + r * k, r < n ? k : 0, stride, rounded + r * stride);
  const TileConfig config;
  _tile_loadconfig(&config);
  each_product(products, count, begin, end,
               [&](const Product& product, std::int64_t panel, std::int64_t last) {
                 const SlicedOperands operands{static_cast<const Bf16*>(product.packed),
                                               product.bias,
                                               product.y,
                                               n,
                                               product.o,
                                               blocks,
                                               slices};
                 for (; panel + 2 <= last; panel += 2)
                   sliced_panels<2>(operands, rounded, stride, panel);
                 if (panel < last) sliced_panels<1>(operands, rounded, stride, panel);
               });
  _tile_release();
}

/// The products of attention with its pages: c[panel][row][16] += x[row][k] panel, block by block.
/// Panels come one after another, and those of c are 16 rows apart. There are at most 16 rows, and
/// x has memory for 16.
struct Bf16Products {
  using Input = Bf16;
  using Weight = Bf16;
  class Scope {
   public:
    Scope() {
      const TileConfig config;
      _tile_loadconfig(&config);
    }
    ~Scope() { _tile_release(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FlushedDenormals flushed_;
  };
  static std::int64_t parts(std::int64_t k) {
    return (k + kBf16Block - 1) / kBf16Block * kBf16Block;
  }
  static std::int64_t panel_weights(std::int64_t k) { return parts(k) * kLanes; }
  static void prepare(const float* row, std::int64_t k, Input* out) {
    round_row(row, k, parts(k), out);
  }
  static Vec rounded(Vec a) { return rounded_to_bf16(a); }

  /// Adds `inputs` <= k inputs in whole blocks. The length of the panels is k.
  static void add(const Input* x, std::int64_t stride, std::int64_t rows, const Weight* panel,
                  std::int64_t panels, std::int64_t k, std::int64_t inputs, float* c) {
    const std::int64_t blocks = parts(inputs) / kBf16Block, panel_stride = panel_weights(k);
    std::int64_t p = 0;
    for (; p + 4 <= panels; p += 4)
      tiles<4>(x, stride, rows, panel + p * panel_stride, panel_stride, blocks, c + p * 256);
    for (; p < panels; ++p)
      tiles<1>(x, stride, rows, panel + p * panel_stride, panel_stride, blocks, c + p * 256);
  }

 private:
  /// A tile has 16 rows. If fewer are wanted, the others are not written to c.
  template <int kPanels>
  static inline void tiles(const Input* x, std::int64_t stride, std::int64_t rows,
                           const Weight* panel, std::int64_t panel_stride, std::int64_t blocks,
                           float* c) {
    alignas(64) float whole[kPanels * 256];
    for (std::int64_t p = 0; p < kPanels; ++p)
      for (std::int64_t r = 0; r < rows; ++r)
        store(whole + p * 256 + r * kLanes, load(c + p * 256 + r * kLanes));
    _tile_loadd(0, whole, 64);
    if constexpr (kPanels == 4) {
      _tile_loadd(1, whole + 256, 64);
      _tile_loadd(2, whole + 512, 64);
      _tile_loadd(3, whole + 768, 64);
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      const Weight* block = panel + b * kPanelTile;
      _tile_loadd(4, x + b * kBf16Block, static_cast<std::size_t>(stride) * sizeof(Bf16));
      _tile_loadd(5, block, 64);
      _tile_dpbf16ps(0, 4, 5);
      if constexpr (kPanels == 4) {
        _tile_loadd(6, block + panel_stride, 64);
        _tile_dpbf16ps(1, 4, 6);
        _tile_loadd(7, block + 2 * panel_stride, 64);
        _tile_dpbf16ps(2, 4, 7);
        _tile_loadd(5, block + 3 * panel_stride, 64);
        _tile_dpbf16ps(3, 4, 5);
      }
    }
    _tile_stored(0, whole, 64);
    if constexpr (kPanels == 4) {
      _tile_stored(1, whole + 256, 64);
      _tile_stored(2, whole + 512, 64);
      _tile_stored(3, whole + 768, 64);
    }
    for (std::int64_t p = 0; p < kPanels; ++p)
      for (std::int64_t r = 0; r < rows; ++r)
        store(c + p * 256 + r * kLanes, load(whole + p * 256 + r * kLanes));
  }
};

#endif

#if defined(__AVX512BF16__)

/// Four inputs of a row: two for the chain of even inputs, then two for that of odd ones. The first
/// one of each chain is in the upper half.
struct InputPairs {
  std::uint32_t even, odd;
};
inline constexpr std::int64_t kInputsOfPart = 4;

/// The inputs of a row as InputPairs, padded with zeros. The upper halves of lanes a b c d become
/// the words ac and bd.
static inline void input_parts(const float* x, std::int64_t k, std::int64_t parts,
                               InputPairs* out) {
  const __m512i first_halves = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  for (std::int64_t j = 0; j < parts * kInputsOfPart; j += kLanes) {
    const __m512i upper = j < k ? _mm512_castps_si512(rounded_to_bf16(load_up_to(x + j, k - j)).v)
                                : _mm512_setzero_si512();
    const __m512i pairs =
        _mm512_or_si512(upper, _mm512_shuffle_epi32(_mm512_srli_epi32(upper, 16), _MM_PERM_BADC));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j / kInputsOfPart),
                        _mm512_castsi512_si256(_mm512_permutexvar_epi64(first_halves, pairs)));
  }
}

/// Adds 32 inputs of kRows rows to 16 outputs, in chains of even and of odd inputs.
template <int kRows>
static inline void block_chains(const InputPairs* x, std::int64_t x_stride, const Bf16* w,
                                Vec (&even)[kRows], Vec (&odd)[kRows]) {
  const __m512i low_half = _mm512_set1_epi32(0xFFFF),
                high_half = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  for (int part = 0; part < 8; ++part) {
    const __m512i first = _mm512_loadu_si512(w + part * 64),
                  second = _mm512_loadu_si512(w + part * 64 + 32);
    const __m512i evens =
        _mm512_or_si512(_mm512_slli_epi32(first, 16), _mm512_and_si512(second, low_half));
    const __m512i odds =
        _mm512_or_si512(_mm512_and_si512(first, high_half), _mm512_srli_epi32(second, 16));
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) {
      const InputPairs& in = x[r * x_stride + part];
      even[r].v = _mm512_dpbf16_ps(
          even[r].v, (__m512bh)_mm512_set1_epi32(static_cast<int>(in.even)), (__m512bh)evens);
      odd[r].v = _mm512_dpbf16_ps(odd[r].v, (__m512bh)_mm512_set1_epi32(static_cast<int>(in.odd)),
                                  (__m512bh)odds);
    }
  }
}

#else

/// An input, rounded to bf16 and converted back to fp32.
using InputPairs = float;
inline constexpr std::int64_t kInputsOfPart = 1;

/// The inputs of a row, padded with zeros.
static inline void input_parts(const float* x, std::int64_t k, std::int64_t parts,
                               InputPairs* out) {
  for (std::int64_t j = 0; j < parts; j += kLanes)
    store(out + j, j < k ? rounded_to_bf16(load_up_to(x + j, k - j)) : splat(0.0F));
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/// Up to this many rows compute the even and the odd chains together. With 16 registers, more rows
/// compute one chain at a time and read W twice. Their number then hides the latency of FMA.
inline constexpr int kRowsOfBothChains = 3;
#else
inline constexpr int kRowsOfBothChains = 8;
#endif

/// Adds 32 inputs of kRows rows to 16 outputs, in chains of even and of odd inputs.
template <int kRows>
static inline void block_chains(const InputPairs* x, std::int64_t x_stride, const Bf16* w,
                                Vec (&even)[kRows], Vec (&odd)[kRows]) {
  const auto step = [&](int pair, bool evens, bool odds) {
    Vec w_even, w_odd;
    load_pairs(w + pair * 32, w_even, w_odd);
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) {
      if (evens) even[r] = fma(splat(x[r * x_stride + 2 * pair]), w_even, even[r]);
      if (odds) odd[r] = fma(splat(x[r * x_stride + 2 * pair + 1]), w_odd, odd[r]);
    }
  };
  if constexpr (kRows > kRowsOfBothChains) {
    // Unrolled four times, because the processor mispredicts the end of a loop of 16.
#pragma GCC unroll 4
    for (int pair = 0; pair < 16; ++pair) step(pair, true, false);
#pragma GCC unroll 4
    for (int pair = 0; pair < 16; ++pair) step(pair, false, true);
  } else {
    for (int pair = 0; pair < 16; ++pair) step(pair, true, true);
  }
}

#endif

#if defined(__AVX512F__)
inline constexpr int kSlicedRows = 8;  // 3 sums per row and 2 vectors of W: 26 of 32 registers
#elif defined(__AVX2__)
inline constexpr int kSlicedRows = 6;  // one chain at a time: 12 of 16 registers for sums
#else
inline constexpr int kSlicedRows = 4;
#endif

/// With one row, memory is the only limit. Weights this many elements ahead are prefetched into the
/// second-level cache, even beyond the end of a product, where the next product's weights are.
inline constexpr std::int64_t kFarAhead = 16384;

/// The share of the 16 cache lines in each block of the next panel that a tile of rows prefetches,
/// so that they arrive while rows are computed.
struct Lines {
  std::int64_t begin, end;
};

/// Computes y[row .. row+kRows) for one panel.
template <int kRows>
static inline void sliced_rows(const SlicedOperands& a, const InputPairs* x, std::int64_t row,
                               std::int64_t rows, std::int64_t panel, Lines ahead) {
  if constexpr (kRows > 1)
    if (rows < kRows) return sliced_rows<kRows - 1>(a, x, row, rows, panel, ahead);
  constexpr std::int64_t parts = 32 / kInputsOfPart;
  const std::int64_t x_stride = a.blocks * parts;
  const Bf16* w = a.panels + panel * a.blocks * 512;
  SliceTree<kRows> tree;
  Vec sum[kRows];
#pragma GCC unroll kUnroll
  // Outputs that are in no cache would have to be fetched before they can be written.
  for (int r = 0; r < kRows; ++r) __builtin_prefetch(a.y + (row + r) * a.o + panel * kLanes, 1);
  std::int64_t block = 0;
  for (int slice = 0; slice < a.slices; ++slice) {
#pragma GCC unroll kUnroll
    for (Vec& s : sum) s = splat(0.0F);
    for (; block < a.slice_end(slice); ++block) {
      Vec even[kRows], odd[kRows];
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) even[r] = odd[r] = splat(0.0F);
      if constexpr (kRows == 1)
        for (int line = 0; line < 16; ++line)
          __builtin_prefetch(w + block * 512 + kFarAhead + line * 32, 0, 2);
      else
        for (std::int64_t line = ahead.begin; line < ahead.end; ++line)
          __builtin_prefetch(w + (a.blocks + block) * 512 + line * 32, 0, 2);
      block_chains<kRows>(x + row * x_stride + block * parts, x_stride, w + block * 512, even, odd);
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) sum[r] = sum[r] + (even[r] + odd[r]);
    }
    tree.add(slice, sum);
    if (slice + 1 < a.slices) tree.wait(sum);
  }
#pragma GCC unroll kUnroll
  for (int r = 0; r < kRows; ++r) store_outputs(a, row + r, panel, sum[r]);
}

static void vector_linear(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                          const Product* products, int count, int slices, std::int64_t begin,
                          std::int64_t end) {
  const FlushedDenormals flushed;
  const std::int64_t blocks = (k + kBf16Block - 1) / kBf16Block,
                     parts = blocks * 32 / kInputsOfPart,
                     tiles = (n + kSlicedRows - 1) / kSlicedRows;
  auto* rounded = reinterpret_cast<InputPairs*>(context.workspace.floats(
      static_cast<std::size_t>(n * parts) * sizeof(InputPairs) / sizeof(float)));
  for (std::int64_t r = 0; r < n; ++r) input_parts(x + r * k, k, parts, rounded + r * parts);
  each_product(products, count, begin, end,
               [&](const Product& product, std::int64_t panel, std::int64_t last) {
                 const SlicedOperands operands{static_cast<const Bf16*>(product.packed),
                                               product.bias,
                                               product.y,
                                               n,
                                               product.o,
                                               blocks,
                                               slices};
                 for (; panel < last; ++panel)
                   for (std::int64_t t = 0; t < tiles; ++t) {
                     // even parts: 9 rows are 5 + 4, not 8 + 1
                     const std::int64_t first = n * t / tiles, rows = n * (t + 1) / tiles - first;
                     sliced_rows<kSlicedRows>(operands, rounded, first, rows, panel,
                                              {16 * t / tiles, 16 * (t + 1) / tiles});
                   }
               });
}

static void sliced_linear(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                          const Product* products, int count, int slices, std::int64_t begin,
                          std::int64_t end) {
#if defined(__AMX_BF16__)
  // A tile has 16 rows. A single row is computed with vectors.
  if (n > 1) return tiled_linear(context, x, n, k, products, count, slices, begin, end);
#endif
  vector_linear(context, x, n, k, products, count, slices, begin, end);
}

#if !defined(__AMX_BF16__)

/// The products of attention with its pages: c[panel][row][16] += x[row][k] panel, block by block.
/// Panels come one after another, and those of c are 16 rows apart.
struct Bf16Products {
  using Input = InputPairs;
  using Weight = Bf16;
  using Scope = FlushedDenormals;
  static std::int64_t blocks(std::int64_t k) { return (k + kBf16Block - 1) / kBf16Block; }
  static std::int64_t parts(std::int64_t k) { return blocks(k) * kBf16Block / kInputsOfPart; }
  static std::int64_t panel_weights(std::int64_t k) { return blocks(k) * kBf16Block * kLanes; }
  static void prepare(const float* row, std::int64_t k, Input* out) {
    input_parts(row, k, parts(k), out);
  }
  static Vec rounded(Vec a) { return rounded_to_bf16(a); }

  template <int kRows>
  static inline void rows_of(const Input* x, std::int64_t stride, std::int64_t rows,
                             const Weight* panel, std::int64_t count, float* c) {
    if constexpr (kRows > 1)
      if (rows < kRows) return rows_of<kRows - 1>(x, stride, rows, panel, count, c);
    Vec sum[kRows];
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) sum[r] = load(c + r * kLanes);
    for (std::int64_t b = 0; b < count; ++b) {
      Vec even[kRows], odd[kRows];
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) even[r] = odd[r] = splat(0.0F);
      block_chains<kRows>(x + b * (kBf16Block / kInputsOfPart), stride,
                          panel + b * kBf16Block * kLanes, even, odd);
#pragma GCC unroll kUnroll
      for (int r = 0; r < kRows; ++r) sum[r] = sum[r] + (even[r] + odd[r]);
    }
#pragma GCC unroll kUnroll
    for (int r = 0; r < kRows; ++r) store(c + r * kLanes, sum[r]);
  }
  /// Adds `inputs` <= k inputs in whole blocks. The length of the panels is k.
  static void add(const Input* x, std::int64_t stride, std::int64_t rows, const Weight* panel,
                  std::int64_t panels, std::int64_t k, std::int64_t inputs, float* c) {
    for (; rows > 0; rows -= kSlicedRows, x += kSlicedRows * stride, c += kSlicedRows * kLanes)
      for (std::int64_t p = 0; p < panels; ++p)
        rows_of<kSlicedRows>(x, stride, rows < kSlicedRows ? rows : kSlicedRows,
                             panel + p * panel_weights(k), blocks(inputs), c + p * 16 * kLanes);
  }
};

#endif

}  // namespace rollcall::kernels::ROLLCALL_ISA
