// y = x W^T + bias in bf16 on tensor cores. One mma shape, one step of k; slices of k by the caller (the layer's shape). How many tokens a block takes follows from
// the number of rows, but each output is a chain of the same instructions in the same order whatever the tile, so rows know nothing of their batch.
#include "kernels/cuda/device.cuh"

namespace rollcall::kernels::cuda {
namespace {

constexpr int kOutputs = 64;  // of a block: four warps with 16 each
template <int kTokens>
constexpr int kSides = kTokens > 128 ? 2 : 1;  // so many times four warps share the tokens: a warp's sums must fit its registers
template <int kTokens>
constexpr int kThreads = 4 * kWarp* kSides<kTokens>;
constexpr int kStages = 3;          // steps under way
constexpr int kStride = kStep + 8;  // elements of a row in shared memory: eight rows fall into different banks

struct Operands {
  Rows16 x, w;
  const float* bias;
  float* y;  ///< [n,o], or with slices [slice][n,o]
  int slices;
};

/// Rows [first, first + count) of a step, 16 bytes a thread at a time; rows beyond the matrix are zeros.
template <int kBlockThreads>
__device__ void load_rows(const Rows16& from, std::int64_t first, int count, std::int64_t step, Bf16* to) {
  const std::int64_t stride = (from.columns + kStep - 1) / kStep * kStep;
  for (int i = static_cast<int>(threadIdx.x); i < count * 4; i += kBlockThreads) {
    const std::int64_t row = first + i / 4;
    const bool inside = row < from.count;
    copy_async(to + i / 4 * kStride + i % 4 * 8, from.rows + (inside ? row * stride + step * kStep + i % 4 * 8 : 0), inside);
  }
}

/// Sums of one step: 16 outputs of the warp, kTiles of 8 tokens.
template <int kTiles>
__device__ void multiply_step(const Bf16* w, const Bf16* x, float (&sum)[kTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  unsigned a[2][4];
  for (int half = 0; half < 2; ++half) load_matrices(a[half], w + (lane % 16) * kStride + half * 16 + lane / 16 * 8);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    unsigned b[4];
    load_matrices(b, x + (tile * 8 + lane % 8) * kStride + lane / 8 * 8);
    const unsigned low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
    multiply_add(sum[tile], a[0], low);
    multiply_add(sum[tile], a[1], high);
  }
}

template <int kTokens>
__global__ void __launch_bounds__(kThreads<kTokens>) product_tile(Operands p) {
  constexpr int kStage = (kOutputs + kTokens) * kStride, kOwn = kTokens / kSides<kTokens>;  // tokens of a warp
  Bf16* memory = shared_memory<Bf16>();
  const std::int64_t steps = (p.w.columns + kStep - 1) / kStep, begin = steps * blockIdx.z / p.slices, end = steps * (blockIdx.z + 1) / p.slices;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * kOutputs, token = static_cast<std::int64_t>(blockIdx.y) * kTokens;
  const auto load = [&](std::int64_t step) {
    Bf16* stage = memory + step % kStages * kStage;
    if (step < end) {
      load_rows<kThreads<kTokens>>(p.w, output, kOutputs, step, stage);
      load_rows<kThreads<kTokens>>(p.x, token, kTokens, step, stage + kOutputs * kStride);
    }
    commit_copies();  // an empty group keeps the count
  };
  float sum[kOwn / 8][4] = {};
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4, side = static_cast<int>(threadIdx.x) / kWarp / 4, lane = static_cast<int>(threadIdx.x) % kWarp;
  load(begin);
  load(begin + 1);
  for (std::int64_t step = begin; step < end; ++step) {
    wait_for_copies<1>();
    __syncthreads();  // the step is there for all, and nobody reads the one before any more, whose place the next load takes
    load(step + 2);
    const Bf16* stage = memory + step % kStages * kStage;
    multiply_step(stage + warp * 16 * kStride, stage + (kOutputs + side * kOwn) * kStride, sum);
  }
  float* y = p.y + blockIdx.z * p.x.count * p.w.count;
#pragma unroll
  for (int tile = 0; tile < kOwn / 8; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t n = token + side * kOwn + tile * 8 + lane % 4 * 2 + i % 2, o = output + warp * 16 + lane / 4 + i / 2 * 8;
      if (n < p.x.count && o < p.w.count) y[n * p.w.count + o] = p.bias != nullptr && p.slices == 1 ? sum[tile][i] + p.bias[o] : sum[tile][i];
    }
}

/// ((0+1)+(2+3))+((4+5)+(6+7)), then the bias.
__global__ void fold_each(std::int64_t count, const float* part, int slices, std::int64_t o, const float* bias, float* y) {
  const std::int64_t at = element();
  if (at >= count) return;
  float sum[8];
#pragma unroll
  for (int s = 0; s < 8; ++s) sum[s] = s < slices ? part[s * count + at] : 0.0F;
#pragma unroll
  for (int width = 4; width > 0; width /= 2)
    if (width < slices)
      for (int s = 0; s < width; ++s) sum[s] = sum[2 * s] + sum[2 * s + 1];
  y[at] = bias != nullptr ? sum[0] + bias[at % o] : sum[0];
}

template <int kTokens>
void launch_tiles(const ExecutionContext& context, const Operands& p) {
  constexpr std::size_t kBytes = kStages * (kOutputs + kTokens) * kStride * sizeof(Bf16);
  check(cudaFuncSetAttribute(product_tile<kTokens>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "cudaFuncSetAttribute");
  const dim3 grid(static_cast<unsigned>((p.w.count + kOutputs - 1) / kOutputs), static_cast<unsigned>((p.x.count + kTokens - 1) / kTokens),
                  static_cast<unsigned>(p.slices));
  launch(context, "product", product_tile<kTokens>, {grid, kThreads<kTokens>, kBytes}, p);
}

/// Two neighbouring elements a thread, so that a word has one writer.
__global__ void round_rows_each(std::int64_t count, const float* x, std::int64_t k, std::int64_t stride, unsigned* to) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t row = at / (stride / 2), j = at % (stride / 2) * 2;
  to[at] = packed_bf16(j < k ? x[row * k + j] : 0.0F, j + 1 < k ? x[row * k + j + 1] : 0.0F);
}

__device__ float as_float(float x) { return x; }
__device__ float as_float(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }

/// A tile of 32 x 32 through shared memory, so that both sides are read and written in rows. x[n,k]: its rows lie `from_stride` elements apart.
template <class T>
__global__ void __launch_bounds__(256)
    round_transposed_tile(const T* x, std::int64_t from_stride, std::int64_t n, std::int64_t k, std::int64_t stride, unsigned* to) {
  __shared__ float tile[32][33];
  const int line = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * 32, first = static_cast<std::int64_t>(blockIdx.x) * 32;
  for (int i = line; i < 32; i += 8) tile[i][column] = row + i < n && first + column < k ? as_float(x[(row + i) * from_stride + first + column]) : 0.0F;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x) / 16; i < 32; i += 16) {
    const int pair = static_cast<int>(threadIdx.x) % 16;
    if (first + i < k) to[((first + i) * stride + row) / 2 + pair] = packed_bf16(tile[2 * pair][i], tile[2 * pair + 1][i]);
  }
}

}  // namespace

void round_rows(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k, Bf16* to) {
  launch_each(context, "round_rows", round_rows_each, n * stepped(k) / 2, x, k, stepped(k), reinterpret_cast<unsigned*>(to));
}

namespace {

template <class T>
void launch_transposed(const ExecutionContext& context, const T* x, std::int64_t from_stride, std::int64_t n, std::int64_t k, Bf16* to) {
  constexpr std::int64_t kRows = std::int64_t{32} * 32768;  // a grid has at most 65,535 in y
  if (k == 0) return;
  for (std::int64_t first = 0; first < n; first += kRows) {
    const std::int64_t rows = n - first < kRows ? n - first : kRows;
    const dim3 grid(static_cast<unsigned>((k + 31) / 32), static_cast<unsigned>((rows + 31) / 32));
    launch(context, "round_transposed", round_transposed_tile<T>, {grid, 256}, x + first * from_stride, from_stride, rows, k, stepped(n),
           reinterpret_cast<unsigned*>(to + first));
  }
}

}  // namespace

void round_transposed(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k, Bf16* to) { launch_transposed(context, x, k, n, k, to); }
void transpose(ExecutionContext& context, const Rows16& x, Bf16* to) { launch_transposed(context, x.rows, stepped(x.columns), x.count, x.columns, to); }

void product(ExecutionContext& context, const Rows16& x, const Rows16& w, const float* bias, int slices, float* y, float* parts) {
  if (x.count == 0 || w.count == 0) return;
  const Scratch<float> own(context, parts == nullptr ? sliced_floats(x.count, w.count, slices) : 0);
  if (parts == nullptr) parts = own.get();
  const Operands p{x, w, bias, slices > 1 ? parts : y, slices};
  if (x.count <= 8) launch_tiles<8>(context, p);
  else if (x.count <= 16) launch_tiles<16>(context, p);
  else if (x.count <= 32) launch_tiles<32>(context, p);
  else if (x.count <= 64) launch_tiles<64>(context, p);
  else if (x.count <= 128) launch_tiles<128>(context, p);
  else launch_tiles<256>(context, p);
  if (slices > 1) launch_each(context, "fold", fold_each, x.count * w.count, parts, slices, w.count, bias, y);
}

void linear(ExecutionContext& context, const float* x, std::int64_t n, const Rows16& w, const float* bias, int slices, float* y) {
  const Scratch<Bf16> rounded(context, n * stepped(w.columns) + 1);
  round_rows(context, x, n, w.columns, rounded.get());
  product(context, {rounded.get(), n, w.columns}, w, bias, slices, y);
}

}  // namespace rollcall::kernels::cuda
