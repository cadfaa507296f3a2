// Backward pass of causal attention over the sequences of a micro-batch on tensor cores (Dao 2023,
// algorithm 2). Scores are recomputed from tiles of 64 queries and 64 keys, so that nothing of the
// size queries x keys is kept. No sum has two writers. One kernel goes twice over the keys that a
// tile of queries attends to, first for lse and delta, then for dq. Another kernel goes over the
// queries that attend to a tile of keys, first those of its own sequence and then those of
// sequences that continue it, for dk and dv. With P = exp(S scale - lse), dP = dout V^T and delta =
// sum P dP:
//   dS = P (dP - delta) scale,  dq = dS K,  dk = dS^T q,  dv = P^T dout.
#include "kernels/cuda/device.cuh"

#include <stdexcept>

namespace rollcall::kernels::cuda {
namespace {

// A warp has 16 rows of a tile. Padding puts rows into different banks.
constexpr int kThreads = 4 * kWarp, kTile = kBackwardTile, kPad = 8;
/// Dimensions of a result that a block computes. Their sums must fit into registers.
constexpr int kPart = 64;
constexpr float kBelowAllScores = -3.0e38F;

struct Operands {
  const Bf16 *q, *k, *v, *dout;       ///< [rows, heads, width], rounded; 0 from head_dim on
  float *dq, *dk, *dv, *lse, *delta;  ///< lse and delta [rows, q_heads]
  AttentionTiles tiles;
  HeadShape shape;
  int width;  ///< head_dim rounded up to a multiple of 16
  float scale;
  __device__ std::int64_t group() const { return shape.q_heads / shape.kv_heads; }
  __device__ int stride() const { return width + kPad; }
};

__device__ bool sees(const AttentionSequence& of, std::int64_t query, std::int64_t key) {
  return query < of.rows && key <= of.before + query;
}

/// A warp's 16 rows by 64 columns. Element i of tile j is in row lane / 4 + i / 2 * 8 and column 8
/// j + lane % 4 * 2 + i % 2.
using Fragments = float[kTile / 8][4];

__device__ int own_row(int i) {
  return static_cast<int>(threadIdx.x) / kWarp * 16 + static_cast<int>(threadIdx.x) % kWarp / 4 +
         i / 2 * 8;
}
__device__ int own_column(int j, int i) {
  return 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + i % 2;
}

/// Begins to copy a tile of one head. Its i-th row is row(i) of rows with `heads` heads, or zeros
/// if row(i) is -1.
template <class Row>
__device__ void load_tile(const Operands& a, const Bf16* from, std::int64_t heads,
                          std::int64_t head, const Row& row, Bf16* to) {
  const int chunks = a.width / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * chunks; i += kThreads) {
    const int c = i % chunks * 8;
    const std::int64_t at = row(i / chunks);
    copy_async(to + i / chunks * a.stride() + c,
               from + ((at < 0 ? 0 : at) * heads + head) * a.width + c, at >= 0);
  }
}
/// Waits until all tiles that are being copied have arrived, for all threads.
__device__ void wait_for_tiles() {
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
}
/// The rows of a sequence's queries, and below those of the keys that they attend to, from position
/// `first` on.
__device__ auto queries_from(const AttentionSequence& of, std::int64_t first) {
  return [&of, first](int i) { return first + i < of.rows ? of.begin + first + i : -1; };
}
__device__ auto keys_from(const AttentionTiles& tiles, const AttentionSequence& of,
                          std::int64_t first) {
  return [sequences = tiles.sequences, of, first](int i) -> std::int64_t {
    const std::int64_t p = first + i;
    if (p >= of.before) return p < of.before + of.rows ? of.begin + p - of.before : -1;
    const AttentionSequence* holder = sequences + of.parent;
    while (p < holder->before) holder = sequences + holder->parent;
    return holder->begin + p - holder->before;
  };
}

/// Multiplies the warp's 16 rows of one tile by all rows of another.
__device__ void multiply_rows(const Operands& a, const Bf16* rows, const Bf16* columns,
                              Fragments& sum) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int j = 0; j < kTile / 8; ++j)
    for (int i = 0; i < 4; ++i) sum[j][i] = 0.0F;
  for (int k = 0; k < a.width; k += 16) {
    unsigned left[4], right[4];
    load_matrices(left, rows + (warp * 16 + lane % 16) * a.stride() + k + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < kTile / 16; ++j) {
      load_matrices(
          right, columns + (j * 16 + lane / 16 * 8 + lane % 8) * a.stride() + k + lane / 8 % 2 * 8);
      const unsigned low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      multiply_add(sum[2 * j], left, low);
      multiply_add(sum[2 * j + 1], left, high);
    }
  }
}

/// sum += weights (16 rows by 64, rounded) times a tile (64 rows by the block's dimensions).
__device__ void add_weighted(const Operands& a, const Fragments& weights, const Bf16* tile,
                             int part, Fragments& sum) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int k = 0; k < kTile / 16; ++k) {
    const float(&low)[4] = weights[2 * k], (&high)[4] = weights[2 * k + 1];
    const unsigned left[4] = {packed_bf16(low[0], low[1]), packed_bf16(low[2], low[3]),
                              packed_bf16(high[0], high[1]), packed_bf16(high[2], high[3])};
#pragma unroll
    for (int j = 0; j < kPart / 16; ++j)
      if (part * kPart + j * 16 < a.width) {
        unsigned right[4];
        load_transposed_matrices(right, tile + (k * 16 + lane % 16) * a.stride() + part * kPart +
                                            j * 16 + lane / 16 * 8);
        const unsigned first[2] = {right[0], right[1]}, second[2] = {right[2], right[3]};
        multiply_add(sum[2 * j], left, first);
        multiply_add(sum[2 * j + 1], left, second);
      }
  }
}

/// Stores the block's dimensions of the warp's 16 rows into one head. row(i) is as in load_tile.
template <class Row>
__device__ void write_rows(const Operands& a, const Fragments& sum, std::int64_t heads,
                           std::int64_t head, const Row& row, int part, float* to) {
#pragma unroll
  for (int j = 0; j < kPart / 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t at = row(own_row(i)), c = part * kPart + own_column(j, i);
      if (at >= 0 && c < a.shape.head_dim)
        to[(at * heads + head) * a.shape.head_dim + c] = sum[j][i];
    }
}

/// The sum over the four lanes that share a row.
__device__ float row_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFFU, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFFU, x, 2);
}
__device__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 2));
}

/// The state of the two rows of a lane: the largest score, and with p = exp(score - largest) the
/// sums of p and of p dP.
struct RowState {
  float top[2] = {kBelowAllScores, kBelowAllScores}, sum[2] = {}, weighted[2] = {};
};

/// Adds the scores of a tile of keys to the state. `first` and `key` are the positions of the
/// tiles.
__device__ void learn(const AttentionSequence& of, float scale, const Fragments& s,
                      const Fragments& dp, std::int64_t first, std::int64_t key, RowState& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = kBelowAllScores;
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        if (sees(of, first + own_row(i), key + own_column(j, i))) top = fmaxf(top, s[j][i] * scale);
    top = fmaxf(state.top[r], row_max(top));
    const float kept = expf(state.top[r] - top);
    state.top[r] = top, state.sum[r] *= kept, state.weighted[r] *= kept;
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        if (sees(of, first + own_row(i), key + own_column(j, i))) {
          const float p = expf(s[j][i] * scale - top);
          state.sum[r] += p;
          state.weighted[r] = fmaf(p, dp[j][i], state.weighted[r]);
        }
  }
}

/// A block computes (tile of queries, query head, part of the dimensions).
__global__ void __launch_bounds__(kThreads) query_gradients(Operands a) {
  Bf16* q = shared_memory<Bf16>();
  Bf16 *dout = q + kTile * a.stride(), *k = dout + kTile * a.stride(), *v = k + kTile * a.stride();
  const AttentionSequence of = a.tiles.sequences[a.tiles.tiles[blockIdx.x].sequence];
  const std::int64_t first = a.tiles.tiles[blockIdx.x].first, head = blockIdx.y,
                     kv_head = head / a.group();
  const std::int64_t last = first + kTile < of.rows ? first + kTile : of.rows,
                     tiles = (of.before + last + kTile - 1) / kTile;
  const int part = static_cast<int>(blockIdx.z);
  const auto own = queries_from(of, first);
  load_tile(a, a.q, a.shape.q_heads, head, own, q);
  load_tile(a, a.dout, a.shape.q_heads, head, own, dout);
  RowState state;
  float lse[2] = {}, delta[2] = {};
  Fragments s, dp, sum = {};
  for (std::int64_t turn = 0; turn < 2 * tiles; ++turn) {
    const std::int64_t key = turn % tiles * kTile;
    if (turn > 0) __syncthreads();  // no thread reads the previous tile any more
    load_tile(a, a.k, a.shape.kv_heads, kv_head, keys_from(a.tiles, of, key), k);
    load_tile(a, a.v, a.shape.kv_heads, kv_head, keys_from(a.tiles, of, key), v);
    wait_for_tiles();
    multiply_rows(a, q, k, s);
    multiply_rows(a, dout, v, dp);
    if (turn < tiles) {
      learn(of, a.scale, s, dp, first, key, state);
      if (turn + 1 < tiles) continue;
      for (int r = 0; r < 2; ++r) {
        const float total = row_sum(state.sum[r]), weighted = row_sum(state.weighted[r]);
        const std::int64_t query = own(own_row(2 * r));
        if (query >= 0) lse[r] = state.top[r] + logf(total), delta[r] = weighted / total;
        if (query >= 0 && part == 0 && threadIdx.x % 4 == 0)
          a.lse[query * a.shape.q_heads + head] = lse[r],
                                          a.delta[query * a.shape.q_heads + head] = delta[r];
      }
      continue;
    }
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
      for (int i = 0; i < 4; ++i)
        s[j][i] = sees(of, first + own_row(i), key + own_column(j, i))
                      ? expf(s[j][i] * a.scale - lse[i / 2]) * (dp[j][i] - delta[i / 2]) * a.scale
                      : 0.0F;
    add_weighted(a, s, k, part, sum);
  }
  write_rows(a, sum, a.shape.q_heads, head, own, part, a.dq);
}

/// A block computes (tile of keys, key head, part of the dimensions). It goes through the sequences
/// that attend to the keys in order, through the query heads of each in ascending order, and
/// through their queries in ascending order.
__global__ void __launch_bounds__(kThreads) key_gradients(Operands a) {
  Bf16* k = shared_memory<Bf16>();
  Bf16 *v = k + kTile * a.stride(), *q = v + kTile * a.stride(), *dout = q + kTile * a.stride();
  const AttentionTiles::Tile tile = a.tiles.tiles[blockIdx.x];
  const std::int64_t kv_head = blockIdx.y;
  const int part = static_cast<int>(blockIdx.z);
  const AttentionSequence owner = a.tiles.sequences[tile.sequence];
  const auto own = queries_from(owner, tile.first);
  load_tile(a, a.k, a.shape.kv_heads, kv_head, own, k);
  load_tile(a, a.v, a.shape.kv_heads, kv_head, own, v);
  Fragments s, dp, sum_k = {}, sum_v = {};
  for (std::int64_t viewer = tile.sequence, next = tile.children; viewer >= 0;
       viewer = next < tile.children_end ? a.tiles.children[next++] : -1) {
    const AttentionSequence of = a.tiles.sequences[viewer];
    // No query before `begin` attends to these keys.
    const std::int64_t position = owner.before + tile.first,
                       begin = viewer == tile.sequence ? tile.first : 0;
    for (std::int64_t head = kv_head * a.group(); head < (kv_head + 1) * a.group(); ++head)
      for (std::int64_t first = begin; first < of.rows; first += kTile) {
        __syncthreads();  // no thread reads the previous tile any more
        load_tile(a, a.q, a.shape.q_heads, head, queries_from(of, first), q);
        load_tile(a, a.dout, a.shape.q_heads, head, queries_from(of, first), dout);
        wait_for_tiles();
        multiply_rows(a, k, q, s);
        multiply_rows(a, v, dout, dp);
#pragma unroll
        for (int j = 0; j < kTile / 8; ++j)
          for (int i = 0; i < 4; ++i) {
            const std::int64_t query = first + own_column(j, i),
                               at = (of.begin + query) * a.shape.q_heads + head;
            // Nothing is written for keys after the last one.
            const bool seen = sees(of, query, position + own_row(i));
            s[j][i] = seen ? expf(s[j][i] * a.scale - a.lse[at]) : 0.0F;
            dp[j][i] = seen ? s[j][i] * (dp[j][i] - a.delta[at]) * a.scale : 0.0F;
          }
        add_weighted(a, s, dout, part, sum_v);
        add_weighted(a, dp, q, part, sum_k);
      }
  }
  write_rows(a, sum_k, a.shape.kv_heads, kv_head, own, part, a.dk);
  write_rows(a, sum_v, a.shape.kv_heads, kv_head, own, part, a.dv);
}

/// Each thread rounds two neighbouring dimensions into to[rows and heads, width].
__global__ void round_heads_each(std::int64_t count, const float* x, std::int64_t d,
                                 std::int64_t width, unsigned* to) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t head = at / (width / 2) * d, c = at % (width / 2) * 2;
  to[at] = packed_bf16(c < d ? x[head + c] : 0.0F, c + 1 < d ? x[head + c + 1] : 0.0F);
}

}  // namespace

AttentionTileTable attention_tiles(std::span<const AttentionSequence> sequences) {
  std::vector<std::vector<std::int32_t>> children(sequences.size());
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const AttentionSequence& of = sequences[s];
    const bool alone = of.parent < 0;
    if (of.parent >= static_cast<std::int64_t>(s) ||
        of.before != (alone ? 0 : sequences[of.parent].before + sequences[of.parent].rows))
      throw std::invalid_argument(
          "attention_tiles: a sequence continues an earlier one, and sees all that this one sees");
    if (of.rows == 0) continue;
    for (std::int64_t parent = of.parent; parent >= 0; parent = sequences[parent].parent)
      children[parent].push_back(static_cast<std::int32_t>(s));
  }
  AttentionTileTable table;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto begin = static_cast<std::int32_t>(table.children.size());
    table.children.insert(table.children.end(), children[s].begin(), children[s].end());
    for (std::int64_t first = 0; first < sequences[s].rows; first += kTile)
      table.tiles.push_back({static_cast<std::int32_t>(s), static_cast<std::int32_t>(first), begin,
                             static_cast<std::int32_t>(table.children.size())});
  }
  return table;
}

void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t rows, HeadShape shape,
                        const AttentionTiles& tiles, float* dq, float* dk, float* dv) {
  if (tiles.count == 0) return;
  const int width = static_cast<int>(head_width(shape));
  const std::int64_t wide = rows * shape.q_heads, narrow = rows * shape.kv_heads;
  const Scratch<float> stats(context, 2 * wide);
  const Scratch<Bf16> rounded(context, 2 * (wide + narrow) * width);
  Bf16* next = rounded.get();
  const auto round = [&](const float* x, std::int64_t heads) {
    Bf16* const to = next;
    next += heads * width;
    launch_each(context, "attention_backward", round_heads_each, heads * width / 2, x,
                shape.head_dim, width, reinterpret_cast<unsigned*>(to));
    return to;
  };
  const Bf16 *own_q = round(q, wide), *own_dout = round(dout, wide), *own_k = round(k, narrow),
             *own_v = round(v, narrow);
  const Operands a{own_q,
                   own_k,
                   own_v,
                   own_dout,
                   dq,
                   dk,
                   dv,
                   stats.get(),
                   stats.get() + wide,
                   tiles,
                   shape,
                   width,
                   1.0F / sqrtf(static_cast<float>(shape.head_dim))};
  const std::size_t bytes = 4 * kTile * static_cast<std::size_t>(width + kPad) * sizeof(Bf16);
  const auto count = static_cast<unsigned>(tiles.count),
             parts = static_cast<unsigned>((width + kPart - 1) / kPart);
  for (const auto kernel : {query_gradients, key_gradients})
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          "cudaFuncSetAttribute");
  launch(context, "attention_backward", query_gradients,
         {dim3(count, static_cast<unsigned>(shape.q_heads), parts), kThreads, bytes}, a);
  launch(context, "attention_backward", key_gradients,
         {dim3(count, static_cast<unsigned>(shape.kv_heads), parts), kThreads, bytes}, a);
}

}  // namespace rollcall::kernels::cuda
