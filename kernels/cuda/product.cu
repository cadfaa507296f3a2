// y = x W^T + bias in bf16 on tensor cores, with one mma shape and one step of k. The caller sets
// the slices of k from the shape of the layer. The size of a block's tile depends on the number of
// rows, and beyond 64 rows also on the outputs and the device. With every tile an output is a chain
// of the same instructions in the same order, so a row's bits do not depend on its batch.
#include "kernels/cuda/device.cuh"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcall::kernels::cuda {
namespace {

constexpr int kAtATime = 16;  // inputs in one mma

/// The outputs and tokens of a block, the numbers of warps that share each of them, the inputs of a
/// stage, and the number of stages in flight.
template <int kOutputs_, int kTokens_, int kOutputWarps_, int kTokenWarps_, int kDepth_,
          int kStages_>
struct Tile {
  static constexpr int kOutputs = kOutputs_, kTokens = kTokens_, kOutputWarps = kOutputWarps_,
                       kTokenWarps = kTokenWarps_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kThreads = kOutputWarps * kTokenWarps * kWarp;
  // The outputs and tokens of a warp.
  static constexpr int kOwnOutputs = kOutputs / kOutputWarps, kOwnTokens = kTokens / kTokenWarps;
  /// Elements of a row in shared memory. The padding puts eight rows into different banks.
  static constexpr int kStride = kDepth + 8;
  static constexpr int kStage = (kOutputs + kTokens) * kStride;
  static constexpr int kParts = kDepth / kAtATime;
  static constexpr std::size_t kBytes = kStages * kStage * sizeof(Bf16);
  static_assert(kOwnOutputs % 16 == 0 && kOwnTokens % 8 == 0 && kDepth % kStep == 0);
};

struct Operands {
  Rows16 x;
  Factor factors[kMostFactors];  ///< all with the same columns; unused factors have no rows
  int slices;                    ///< above 1 the sums go to [slice][n,o] first
};

/// A thread's share of the copies of some rows of a stage: 16 bytes of every kLines-th row. Rows
/// after the last one are not copied, because their results are not written.
template <class T, int kRows>
struct RowCopies {
  static constexpr int kChunks = T::kDepth / 8, kLines = T::kThreads / kChunks,
                       kCount = (kRows + kLines - 1) / kLines;
  static_assert(T::kThreads % kChunks == 0);
  const Bf16* from;
  std::int64_t step;  ///< elements from one row to the next
  int rows;           ///< existing rows from the thread's first one on
  int to;             ///< place of the first row in the stage

  __device__ RowCopies(const Rows16& matrix, std::int64_t first, std::int64_t k, int place) {
    const std::int64_t stride = (matrix.columns + kStep - 1) / kStep * kStep;
    const int line = static_cast<int>(threadIdx.x) / kChunks,
              c = static_cast<int>(threadIdx.x) % kChunks * 8;
    const std::int64_t left = matrix.count - first < kRows ? matrix.count - first : kRows;
    from = matrix.rows + (first + line) * stride + k + c, step = kLines * stride,
    rows = static_cast<int>(left) - line, to = place + line * T::kStride + c;
  }
  /// Starts the copies [begin, end) of the next stage.
  __device__ void start(Bf16* stage, int begin, int end) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (i >= begin && i < end && i * kLines < rows)
        copy_async(stage + to + i * kLines * T::kStride, from + i * step, true);
  }
};

/// The operands that a warp multiplies at a time: 16 inputs of its outputs and tokens. The next
/// ones are read while it multiplies.
template <class T>
struct Fragments {
  unsigned w[T::kOwnOutputs / 16][4], x[(T::kOwnTokens + 15) / 16][4];

  /// The arguments point to the lane's rows of the first tile.
  __device__ void load(const Bf16* outputs, const Bf16* tokens) {
#pragma unroll
    for (int o = 0; o < T::kOwnOutputs / 16; ++o)
      load_matrices(w[o], outputs + o * 16 * T::kStride);
#pragma unroll
    for (int t = 0; t < (T::kOwnTokens + 15) / 16; ++t)
      load_matrices(x[t], tokens + t * 16 * T::kStride);
  }
  __device__ void multiply(float (&sum)[T::kOwnOutputs / 16][T::kOwnTokens / 8][4]) const {
#pragma unroll
    for (int t = 0; t < T::kOwnTokens / 8; ++t) {
      const unsigned own[2] = {x[t / 2][t % 2 * 2], x[t / 2][t % 2 * 2 + 1]};
#pragma unroll
      for (int o = 0; o < T::kOwnOutputs / 16; ++o) multiply_add(sum[o][t], w[o], own);
    }
  }
};

/// A block computes (tile of tokens, tile of outputs, slice). Neighbouring blocks read the same
/// weights.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) product_tile(Operands p) {
  Bf16* memory = shared_memory<Bf16>();
  Factor f = p.factors[0];
  std::int64_t tile = blockIdx.y;
#pragma unroll
  for (int i = 1; i < kMostFactors; ++i) {
    const std::int64_t before = (f.w.count + T::kOutputs - 1) / T::kOutputs;
    if (tile < before) break;
    tile -= before, f = p.factors[i];
  }
  const std::int64_t steps = (f.w.columns + kStep - 1) / kStep,
                     begin = steps * blockIdx.z / p.slices * kStep,
                     end = steps * (blockIdx.z + 1) / p.slices * kStep;
  const std::int64_t output = tile * T::kOutputs,
                     token = static_cast<std::int64_t>(blockIdx.x) * T::kTokens;
  // chunk: the part of a stage that this thread copies.
  const int inputs = static_cast<int>(end - begin),
            chunk = static_cast<int>(threadIdx.x) % (T::kDepth / 8) * 8;
  RowCopies<T, T::kOutputs> weights(f.w, output, begin, 0);
  RowCopies<T, T::kTokens> tokens(p.x, token, begin, T::kOutputs * T::kStride);
  const auto next = [](int place) {
    return place + T::kStage < T::kStages * T::kStage ? place + T::kStage : 0;
  };
  int copied = 0;        // inputs whose copies have been started
  int from = 0, to = 0;  // places of the stage that is read, and of the next copies
  /// Starts part j of the next stage's copies. Empty groups are committed too, so that waits can
  /// count groups.
  const auto load = [&](int j) {
    constexpr int kOfWeights = decltype(weights)::kCount, kOfTokens = decltype(tokens)::kCount;
    if (j == 0 && copied + chunk >= inputs) weights.rows = tokens.rows = 0;
    weights.start(memory + to, kOfWeights * j / T::kParts, kOfWeights * (j + 1) / T::kParts);
    tokens.start(memory + to, kOfTokens * j / T::kParts, kOfTokens * (j + 1) / T::kParts);
    if (j + 1 < T::kParts) return;
    commit_copies();
    weights.from += T::kDepth, tokens.from += T::kDepth, copied += T::kDepth, to = next(to);
  };
  float sum[T::kOwnOutputs / 16][T::kOwnTokens / 8][4] = {};
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const int own_output = warp % T::kOutputWarps * T::kOwnOutputs,
            own_token = warp / T::kOutputWarps * T::kOwnTokens;
  // A warp with only 8 tokens reads them twice, because it loads 16 at a time.
  const int second = T::kOwnTokens % 16 == 0 ? lane / 16 * 8 : 0;
  const Bf16* own_w = memory + (own_output + lane % 16) * T::kStride + lane / 16 * 8;
  const Bf16* own_x =
      memory + (T::kOutputs + own_token + second + lane % 8) * T::kStride + lane / 8 % 2 * 8;
  Fragments<T> fragments[2];
#pragma unroll
  for (int i = 0; i + 1 < T::kStages; ++i)
#pragma unroll
    for (int j = 0; j < T::kParts; ++j) load(j);
  wait_for_copies<T::kStages - 2>();
  __syncthreads();
  fragments[0].load(own_w, own_x);
  /// Multiplies a stage, which has `left` inputs, and at least kDepth if it is `whole`.
  const auto multiply_stage = [&](int left, bool whole) {
#pragma unroll
    for (int j = 0; j < T::kParts; ++j) {
      if (!whole && j * kAtATime >= left) continue;
      load(j);  // into the place of the previous stage
      if (j + 1 < T::kParts) {
        // Operands read beyond the end are not multiplied.
        fragments[(j + 1) % 2].load(own_w + from + (j + 1) * kAtATime,
                                    own_x + from + (j + 1) * kAtATime);
      } else if (left > T::kDepth) {
        from = next(from);
        wait_for_copies<T::kStages - 2>();
        __syncthreads();  // the next stage has arrived, and no thread reads this one any more
        fragments[0].load(own_w + from, own_x + from);
      }
      fragments[j % 2].multiply(sum);
    }
  };
  int left = inputs;
  for (; left >= T::kDepth; left -= T::kDepth) multiply_stage(left, true);
  if (left > 0) multiply_stage(left, false);
  float* y = f.y + blockIdx.z * p.x.count * f.w.count;
  // With slices the fold adds the bias and `added`.
  const float *bias = p.slices == 1 ? f.bias : nullptr, *added = p.slices == 1 ? f.added : nullptr;
#pragma unroll
  for (int o = 0; o < T::kOwnOutputs / 16; ++o)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t of = output + own_output + o * 16 + half * 8 + lane / 4;
      const float first = bias != nullptr && of < f.w.count ? bias[of] : 0.0F;
#pragma unroll
      for (int t = 0; t < T::kOwnTokens / 8; ++t)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const std::int64_t n = token + own_token + t * 8 + lane % 4 * 2 + j,
                             at = n * f.w.count + of;
          if (n < p.x.count && of < f.w.count)
            y[at] = sum[o][t][half * 2 + j] + first + (added != nullptr ? added[at] : 0.0F);
        }
    }
}

/// Folds slices as ((0+1)+(2+3))+((4+5)+(6+7)), then adds the bias and `added`.
__global__ void fold_each(std::int64_t count, const float* part, int slices, std::int64_t o,
                          const float* bias, const float* added, float* y) {
  const std::int64_t at = element();
  if (at >= count) return;
  float sum[8];
#pragma unroll
  for (int s = 0; s < 8; ++s) sum[s] = s < slices ? part[s * count + at] : 0.0F;
#pragma unroll
  for (int width = 4; width > 0; width /= 2)
    if (width < slices)
      for (int s = 0; s < width; ++s) sum[s] = sum[2 * s] + sum[2 * s + 1];
  y[at] = sum[0] + (bias != nullptr ? bias[at % o] : 0.0F) + (added != nullptr ? added[at] : 0.0F);
}

std::int64_t tiles(std::int64_t count, std::int64_t of) { return (count + of - 1) / of; }

template <class T>
std::int64_t output_tiles(const Operands& p) {
  std::int64_t all = 0;
  for (const Factor& f : p.factors) all += tiles(f.w.count, T::kOutputs);
  return all;
}

template <class T>
void launch_tiles(const ExecutionContext& context, const Operands& p) {
  check(cudaFuncSetAttribute(product_tile<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(T::kBytes)),
        "cudaFuncSetAttribute");
  const dim3 grid(static_cast<unsigned>(tiles(p.x.count, T::kTokens)),
                  static_cast<unsigned>(output_tiles<T>(p)), static_cast<unsigned>(p.slices));
  launch(context, "product", product_tile<T>, {grid, T::kThreads, T::kBytes}, p);
}

/// The cost of a launch: the number of rounds in which the device runs all blocks, with `at_once`
/// blocks per multiprocessor, times the cost of a round. It is infinite if a block does not fit.
template <class T>
double cost(const Operands& p, int at_once, double turn) {
  if (T::kBytes > static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)))
    return HUGE_VAL;
  const std::int64_t blocks = tiles(p.x.count, T::kTokens) * output_tiles<T>(p) * p.slices;
  return static_cast<double>(tiles(blocks, attribute(cudaDevAttrMultiProcessorCount) * at_once)) *
         turn;
}

// The costs of rounds come from rates on an H100, 2026-11-26: 386, 321 and 154 TFLOP/s when the
// tiles fill the device. 1 is the time of the large tile for 64 x 64 outputs.
using Large = Tile<128, 256, 2, 4, 64, 3>;
using Middle = Tile<128, 128, 2, 2, 64, 3>;
using Small = Tile<64, 64, 2, 2, 32, 4>;

void launch_tiles(const ExecutionContext& context, const Operands& p) {
  const std::int64_t n = p.x.count;
  if (n <= 8) launch_tiles<Tile<32, 8, 2, 1, 128, 4>>(context, p);
  else if (n <= 16) launch_tiles<Tile<64, 16, 4, 1, 128, 4>>(context, p);
  else if (n <= 32) launch_tiles<Tile<32, 32, 2, 1, 64, 4>>(context, p);
  else if (n <= 64) launch_tiles<Tile<64, 64, 4, 2, 64, 4>>(context, p);
  else {
    const double small = cost<Small>(p, 4, 6.4), middle = cost<Middle>(p, 2, 9.0),
                 large = cost<Large>(p, 1, 8.0);
    if (large <= small && large <= middle) launch_tiles<Large>(context, p);
    else if (middle <= small) launch_tiles<Middle>(context, p);
    else launch_tiles<Small>(context, p);
  }
}

/// Each thread rounds two neighbouring elements, so that a word has one writer.
__global__ void round_rows_each(std::int64_t count, const float* x, std::int64_t k,
                                std::int64_t stride, unsigned* to) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t row = at / (stride / 2), j = at % (stride / 2) * 2;
  to[at] = packed_bf16(j < k ? x[row * k + j] : 0.0F, j + 1 < k ? x[row * k + j + 1] : 0.0F);
}

__device__ float as_float(float x) { return x; }
__device__ float as_float(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }

/// Transposes a tile of 32 x 32 through shared memory, so that both sides are accessed by rows. The
/// rows of x[n,k] are `from_stride` elements apart.
template <class T>
__global__ void __launch_bounds__(256)
    round_transposed_tile(const T* x, std::int64_t from_stride, std::int64_t n, std::int64_t k,
                          std::int64_t stride, unsigned* to) {
  __shared__ float tile[32][33];
  const int line = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * 32,
                     first = static_cast<std::int64_t>(blockIdx.x) * 32;
  for (int i = line; i < 32; i += 8)
    tile[i][column] = row + i < n && first + column < k
                          ? as_float(x[(row + i) * from_stride + first + column])
                          : 0.0F;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x) / 16; i < 32; i += 16) {
    const int pair = static_cast<int>(threadIdx.x) % 16;
    if (first + i < k)
      to[((first + i) * stride + row) / 2 + pair] =
          packed_bf16(tile[2 * pair][i], tile[2 * pair + 1][i]);
  }
}

}  // namespace

void round_rows(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                Bf16* to) {
  launch_each(context, "round_rows", round_rows_each, n * stepped(k) / 2, x, k, stepped(k),
              reinterpret_cast<unsigned*>(to));
}

namespace {

template <class T>
void launch_transposed(const ExecutionContext& context, const T* x, std::int64_t from_stride,
                       std::int64_t n, std::int64_t k, Bf16* to) {
  constexpr std::int64_t kRows = std::int64_t{32} * 32768;  // a grid has at most 65,535 blocks in y
  if (k == 0) return;
  for (std::int64_t first = 0; first < n; first += kRows) {
    const std::int64_t rows = n - first < kRows ? n - first : kRows;
    const dim3 grid(static_cast<unsigned>((k + 31) / 32), static_cast<unsigned>((rows + 31) / 32));
    launch(context, "round_transposed", round_transposed_tile<T>, {grid, 256},
           x + first * from_stride, from_stride, rows, k, stepped(n),
           reinterpret_cast<unsigned*>(to + first));
  }
}

}  // namespace

void round_transposed(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                      Bf16* to) {
  launch_transposed(context, x, k, n, k, to);
}
void transpose(ExecutionContext& context, const Rows16& x, Bf16* to) {
  launch_transposed(context, x.rows, stepped(x.columns), x.count, x.columns, to);
}

void products(ExecutionContext& context, const Rows16& x, std::span<const Factor> factors) {
  Operands p{x, {}, 1};
  if (factors.size() > kMostFactors) throw std::invalid_argument("products: at most three factors");
  std::copy(factors.begin(), factors.end(), p.factors);
  if (x.count > 0) launch_tiles(context, p);
}

void product(ExecutionContext& context, const Rows16& x, const Rows16& w, const float* bias,
             int slices, float* y, float* parts, const float* added) {
  if (x.count == 0 || w.count == 0) return;
  const Scratch<float> own(context, parts == nullptr ? sliced_floats(x.count, w.count, slices) : 0);
  if (parts == nullptr) parts = own.get();
  launch_tiles(context, {x, {{w, bias, slices > 1 ? parts : y, added}}, slices});
  if (slices > 1)
    launch_each(context, "fold", fold_each, x.count * w.count, parts, slices, w.count, bias, added,
                y);
}

void linear(ExecutionContext& context, const float* x, std::int64_t n, const Rows16& w,
            const float* bias, int slices, float* y) {
  const Scratch<Bf16> rounded(context, n * stepped(w.columns) + 1);
  round_rows(context, x, n, w.columns, rounded.get());
  product(context, {rounded.get(), n, w.columns}, w, bias, slices, y);
}

}  // namespace rollcall::kernels::cuda
