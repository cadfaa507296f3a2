// Backward of causal attention over one sequence on tensor cores (Dao 2023, algorithm 2): scores are made anew from tiles of 64 queries and 64 keys, nothing of the size
// queries x keys is kept, and no sum has two writers. One kernel goes over the keys of a tile of queries, twice: for lse and delta, then for dq; another over the
// queries of a tile of keys for dk and dv. With P = exp(S scale - lse), dP = dout V^T, delta = sum P dP:  dS = P (dP - delta) scale;  dq = dS K, dk = dS^T q, dv = P^T dout.
#include "kernels/cuda/device.cuh"

namespace rollcall::kernels::cuda {
namespace {

constexpr int kThreads = 4 * kWarp, kTile = 64, kPad = 8;  // a warp has 16 rows of a tile; padded rows fall into different banks
constexpr int kPart = 64;                                  // dimensions of a result that a block makes: its sums must fit the registers
constexpr float kBelowAllScores = -3.0e38F;

struct Operands {
  const float *q, *k, *v, *dout;
  float *dq, *dk, *dv, *lse, *delta;  ///< lse and delta [queries, q_heads]
  std::int64_t queries, keys;
  HeadShape shape;
  std::int64_t begin;  ///< key heads from here on
  int width;           ///< head_dim filled up to 16
  float scale;
  __device__ std::int64_t group() const { return shape.q_heads / shape.kv_heads; }
  __device__ std::int64_t before() const { return keys - queries; }
  __device__ bool sees(std::int64_t query, std::int64_t key) const { return query < queries && key <= before() + query; }
  __device__ int stride() const { return width + kPad; }
};

using Fragments = float[kTile / 8][4];  // of a warp: 16 rows by 64 columns; element i of tile j is row lane / 4 + i / 2 * 8, column 8 j + lane % 4 * 2 + i % 2

__device__ int own_row(int i) { return static_cast<int>(threadIdx.x) / kWarp * 16 + static_cast<int>(threadIdx.x) % kWarp / 4 + i / 2 * 8; }
__device__ int own_column(int j, int i) { return 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + i % 2; }

/// A tile of one head in bf16: rows [first, first + 64) of `heads` heads each; zeros beyond rows and dimensions.
__device__ void load_tile(const Operands& a, const float* from, std::int64_t heads, std::int64_t head, std::int64_t first, std::int64_t rows, Bf16* to) {
  const int d = static_cast<int>(a.shape.head_dim), pairs = a.width / 2;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * pairs; i += kThreads) {
    const int row = i / pairs, c = i % pairs * 2;
    const float* x = from + ((first + row) * heads + head) * d + c;
    const bool inside = first + row < rows;
    *reinterpret_cast<unsigned*>(to + row * a.stride() + c) = packed_bf16(inside && c < d ? x[0] : 0.0F, inside && c + 1 < d ? x[1] : 0.0F);
  }
}

/// The warp's 16 rows of one tile by all rows of another.
__device__ void multiply_rows(const Operands& a, const Bf16* rows, const Bf16* columns, Fragments& sum) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int j = 0; j < kTile / 8; ++j)
    for (int i = 0; i < 4; ++i) sum[j][i] = 0.0F;
  for (int k = 0; k < a.width; k += 16) {
    unsigned left[4], right[4];
    load_matrices(left, rows + (warp * 16 + lane % 16) * a.stride() + k + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < kTile / 16; ++j) {
      load_matrices(right, columns + (j * 16 + lane / 16 * 8 + lane % 8) * a.stride() + k + lane / 8 % 2 * 8);
      const unsigned low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      multiply_add(sum[2 * j], left, low);
      multiply_add(sum[2 * j + 1], left, high);
    }
  }
}

/// sum += weights (16 rows by 64, rounded) times a tile (64 by the block's dimensions).
__device__ void add_weighted(const Operands& a, const Fragments& weights, const Bf16* tile, int part, Fragments& sum) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int k = 0; k < kTile / 16; ++k) {
    const float(&low)[4] = weights[2 * k], (&high)[4] = weights[2 * k + 1];
    const unsigned left[4] = {packed_bf16(low[0], low[1]), packed_bf16(low[2], low[3]), packed_bf16(high[0], high[1]), packed_bf16(high[2], high[3])};
#pragma unroll
    for (int j = 0; j < kPart / 16; ++j)
      if (part * kPart + j * 16 < a.width) {
        unsigned right[4];
        load_transposed_matrices(right, tile + (k * 16 + lane % 16) * a.stride() + part * kPart + j * 16 + lane / 16 * 8);
        const unsigned first[2] = {right[0], right[1]}, second[2] = {right[2], right[3]};
        multiply_add(sum[2 * j], left, first);
        multiply_add(sum[2 * j + 1], left, second);
      }
  }
}

/// Rows [first, first + 16) of the warp, the block's dimensions, into one head.
__device__ void write_rows(const Operands& a, const Fragments& sum, std::int64_t heads, std::int64_t head, std::int64_t first, std::int64_t rows, int part,
                           float* to) {
#pragma unroll
  for (int j = 0; j < kPart / 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row = first + own_row(i), c = part * kPart + own_column(j, i);
      if (row < rows && c < a.shape.head_dim) to[(row * heads + head) * a.shape.head_dim + c] = sum[j][i];
    }
}

/// Of a row, over the four lanes that share it.
__device__ float row_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFFU, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFFU, x, 2);
}
__device__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 2));
}

/// What is known of the two rows of a lane: largest score, and with p = exp(score - largest) the sums of p and of p dP.
struct RowState {
  float top[2] = {kBelowAllScores, kBelowAllScores}, sum[2] = {}, weighted[2] = {};
};

/// Scores of a tile of keys into the state. first, key: of the tiles.
__device__ void learn(const Operands& a, const Fragments& s, const Fragments& dp, std::int64_t first, std::int64_t key, RowState& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = kBelowAllScores;
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        if (a.sees(first + own_row(i), key + own_column(j, i))) top = fmaxf(top, s[j][i] * a.scale);
    top = fmaxf(state.top[r], row_max(top));
    const float kept = expf(state.top[r] - top);
    state.top[r] = top, state.sum[r] *= kept, state.weighted[r] *= kept;
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        if (a.sees(first + own_row(i), key + own_column(j, i))) {
          const float p = expf(s[j][i] * a.scale - top);
          state.sum[r] += p;
          state.weighted[r] = fmaf(p, dp[j][i], state.weighted[r]);
        }
  }
}

/// Block (tile of queries, query head, part of the dimensions).
__global__ void __launch_bounds__(kThreads) query_gradients(Operands a) {
  Bf16* q = shared_memory<Bf16>();
  Bf16 *dout = q + kTile * a.stride(), *k = dout + kTile * a.stride(), *v = k + kTile * a.stride();
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(kTile), head = a.begin * a.group() + blockIdx.y, kv_head = head / a.group();
  const std::int64_t last = first + kTile < a.queries ? first + kTile : a.queries, tiles = (a.before() + last + kTile - 1) / kTile;
  const int part = static_cast<int>(blockIdx.z);
  load_tile(a, a.q, a.shape.q_heads, head, first, a.queries, q);
  load_tile(a, a.dout, a.shape.q_heads, head, first, a.queries, dout);
  RowState state;
  float lse[2] = {}, delta[2] = {};
  Fragments s, dp, sum = {};
  for (std::int64_t turn = 0; turn < 2 * tiles; ++turn) {
    const std::int64_t key = turn % tiles * kTile;
    if (turn > 0) __syncthreads();  // nobody reads the tile before any more
    load_tile(a, a.k, a.shape.kv_heads, kv_head, key, a.keys, k);
    load_tile(a, a.v, a.shape.kv_heads, kv_head, key, a.keys, v);
    __syncthreads();
    multiply_rows(a, q, k, s);
    multiply_rows(a, dout, v, dp);
    if (turn < tiles) {
      learn(a, s, dp, first, key, state);
      if (turn + 1 < tiles) continue;
      for (int r = 0; r < 2; ++r) {
        const float total = row_sum(state.sum[r]), weighted = row_sum(state.weighted[r]);
        const std::int64_t query = first + own_row(2 * r);
        if (query < a.queries) lse[r] = state.top[r] + logf(total), delta[r] = weighted / total;
        if (query < a.queries && part == 0 && threadIdx.x % 4 == 0)
          a.lse[query * a.shape.q_heads + head] = lse[r], a.delta[query * a.shape.q_heads + head] = delta[r];
      }
      continue;
    }
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 0; i < 4; ++i)
        s[j][i] = a.sees(first + own_row(i), key + own_column(j, i)) ? expf(s[j][i] * a.scale - lse[i / 2]) * (dp[j][i] - delta[i / 2]) * a.scale : 0.0F;
    add_weighted(a, s, k, part, sum);
  }
  write_rows(a, sum, a.shape.q_heads, head, first, a.queries, part, a.dq);
}

/// Block (tile of keys, key head, part of the dimensions): the query heads that read it ascending, their queries ascending.
__global__ void __launch_bounds__(kThreads) key_gradients(Operands a) {
  Bf16* k = shared_memory<Bf16>();
  Bf16 *v = k + kTile * a.stride(), *q = v + kTile * a.stride(), *dout = q + kTile * a.stride();
  const std::int64_t key = blockIdx.x * static_cast<std::int64_t>(kTile), kv_head = a.begin + blockIdx.y;
  const int part = static_cast<int>(blockIdx.z);
  load_tile(a, a.k, a.shape.kv_heads, kv_head, key, a.keys, k);
  load_tile(a, a.v, a.shape.kv_heads, kv_head, key, a.keys, v);
  const std::int64_t begin = key > a.before() ? (key - a.before()) / kTile * kTile : 0;  // no query before sees these keys
  Fragments s, dp, sum_k = {}, sum_v = {};
  for (std::int64_t head = kv_head * a.group(); head < (kv_head + 1) * a.group(); ++head)
    for (std::int64_t first = begin; first < a.queries; first += kTile) {
      __syncthreads();  // nobody reads the tile before any more
      load_tile(a, a.q, a.shape.q_heads, head, first, a.queries, q);
      load_tile(a, a.dout, a.shape.q_heads, head, first, a.queries, dout);
      __syncthreads();
      multiply_rows(a, k, q, s);
      multiply_rows(a, v, dout, dp);
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j)
        for (int i = 0; i < 4; ++i) {
          const std::int64_t query = first + own_column(j, i), at = query * a.shape.q_heads + head;
          const bool sees = a.sees(query, key + own_row(i));
          s[j][i] = sees ? expf(s[j][i] * a.scale - a.lse[at]) : 0.0F;
          dp[j][i] = sees ? s[j][i] * (dp[j][i] - a.delta[at]) * a.scale : 0.0F;
        }
      add_weighted(a, s, dout, part, sum_v);
      add_weighted(a, dp, q, part, sum_k);
    }
  write_rows(a, sum_k, a.shape.kv_heads, kv_head, key, a.keys, part, a.dk);
  write_rows(a, sum_v, a.shape.kv_heads, kv_head, key, a.keys, part, a.dv);
}

}  // namespace

void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v, const float* dout, std::int64_t queries, std::int64_t keys,
                        HeadShape shape, std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv) {
  if (queries == 0 || begin == end) return;
  constexpr int kMost = 4 * kTile * (256 + kPad) * static_cast<int>(sizeof(Bf16));  // at the largest head_dim
  const Scratch<float> stats(context, 2 * queries * shape.q_heads);
  const int width = static_cast<int>(head_width(shape));
  const Operands a{q,       k,           v,
                   dout,    dq,          dk,
                   dv,      stats.get(), stats.get() + queries * shape.q_heads,
                   queries, keys,        shape,
                   begin,   width,       1.0F / sqrtf(static_cast<float>(shape.head_dim))};
  const std::size_t bytes = 4 * kTile * static_cast<std::size_t>(width + kPad) * sizeof(Bf16);
  const auto tiles = [](std::int64_t rows) { return static_cast<unsigned>((rows + kTile - 1) / kTile); };
  const auto heads = static_cast<unsigned>(end - begin), parts = static_cast<unsigned>((width + kPart - 1) / kPart);
  for (const auto kernel : {query_gradients, key_gradients})
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost), "cudaFuncSetAttribute");
  const auto group = static_cast<unsigned>(shape.q_heads / shape.kv_heads);
  launch(context, "attention_backward", query_gradients, {dim3(tiles(queries), heads * group, parts), kThreads, bytes}, a);
  launch(context, "attention_backward", key_gradients, {dim3(tiles(keys), heads, parts), kThreads, bytes}, a);
}

}  // namespace rollcall::kernels::cuda
