// Softmax attention over pages of keys and values on tensor cores. It is online over ascending
// pages (Milakov and Gimelshein 2018), and folds its state into a total after every 1,024 keys. A
// block computes one row and one key head. Up to 8 query heads that read the key head are the
// columns of its products. So decode, prefill and training have the same order of sums.
#include "kernels/cuda/device.cuh"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

constexpr int kWarps = 4, kQueries = 8, kKeys = static_cast<int>(kPageKeys),
              kSplitPages = 1024 / kKeys;
/// Unused elements after each row in shared memory, which put eight rows into different banks.
constexpr int kPad = 8;
constexpr float kBelowAllScores = -3.0e38F;

struct Operands {
  const float* q;
  const AttentionRow* rows;
  HeadShape shape;
  AttentionPart part;
  int width;  ///< head_dim rounded up to a multiple of 16
  float scale;
  float* out;
  unsigned* rounded;  ///< [n, q_heads head_dim], or nullptr
};

/// The shared memory of a block. It has two pages, because one is loaded while the other is used.
struct Shared {
  Bf16 *queries, *weights;  ///< [8, width] and [8, 64], with padded rows
  Bf16* pages;              ///< two pages of keys and values [64, width] each, with padded rows
  float *scores, *kept, *top, *mass;  ///< [8, 64], and [8] for each of the others
  int page;                           ///< elements of a page
  __device__ explicit Shared(int width) {
    const int stride = width + kPad;
    queries = shared_memory<Bf16>();
    weights = queries + kQueries * stride;
    page = kKeys * stride;
    pages = weights + kQueries * (kKeys + kPad);
    scores = reinterpret_cast<float*>(pages + 4 * page);
    kept = scores + kQueries * kKeys, top = kept + kQueries, mass = top + kQueries;
  }
  __device__ Bf16* keys(std::int64_t p) const { return pages + p % 2 * 2 * page; }
  __device__ Bf16* values(std::int64_t p) const { return keys(p) + page; }
};
constexpr std::size_t shared_bytes(std::int64_t width) {
  return static_cast<std::size_t>((kQueries + 4 * kKeys) * (width + kPad) +
                                  kQueries * (kKeys + kPad)) *
             sizeof(Bf16) +
         static_cast<std::size_t>(kQueries * kKeys + 3 * kQueries) * sizeof(float);
}

/// Loads keys and values of the positions of page p that the row attends to. All others become
/// zeros, whatever the page has there.
__device__ void load_page(const Operands& a, const AttentionRow& row, std::int64_t key_head,
                          std::int64_t p, Bf16* keys, Bf16* values) {
  const auto* page =
      reinterpret_cast<const Bf16*>(static_cast<const char*>(row.pages[p]) + a.part.offset) +
      key_head * 2 * kKeys * a.width;
  const int chunks = a.width / 8,
            seen = static_cast<int>(row.keys - p * kKeys < kKeys ? row.keys - p * kKeys : kKeys);
  for (int i = static_cast<int>(threadIdx.x); i < kKeys * chunks; i += kWarps * kWarp) {
    const int slot = i / chunks, c = i % chunks * 8;
    copy_async(keys + slot * (a.width + kPad) + c, page + (slot < seen ? slot * a.width + c : 0),
               slot < seen);
    copy_async(values + slot * (a.width + kPad) + c,
               page + (slot < seen ? (kKeys + slot) * a.width + c : 0), slot < seen);
  }
}

/// Loads the row's query heads [first, first + count), rounded. The other columns become zeros.
__device__ void load_queries(const Operands& a, std::int64_t row, std::int64_t first,
                             std::int64_t count, Bf16* to) {
  const std::int64_t d = a.shape.head_dim;
  for (int i = static_cast<int>(threadIdx.x); i < kQueries * a.width / 2; i += kWarps * kWarp) {
    const int query = i / (a.width / 2), c = i % (a.width / 2) * 2;
    const float* q = a.q + (row * a.shape.q_heads + first + query) * d + c;
    const unsigned pair =
        packed_bf16(query < count && c < d ? q[0] : 0.0F, query < count && c + 1 < d ? q[1] : 0.0F);
    *reinterpret_cast<unsigned*>(to + query * (a.width + kPad) + c) = pair;
  }
}

/// Computes the scores[8, 64] of a page. Each warp multiplies 16 keys by all queries.
__device__ void score_page(const Shared& s, const Bf16* keys, int width) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp, stride = width + kPad;
  float sum[4] = {};
  for (int c = 0; c < width; c += 16) {
    unsigned a[4];
    load_matrices(a, keys + (warp * 16 + lane % 16) * stride + c + lane / 16 * 8);
    const auto* q =
        reinterpret_cast<const unsigned*>(s.queries + lane / 4 * stride + c + lane % 4 * 2);
    const unsigned b[2] = {q[0], q[4]};
    multiply_add(sum, a, b);
  }
  for (int i = 0; i < 4; ++i)
    s.scores[(lane % 4 * 2 + i % 2) * kKeys + warp * 16 + lane / 4 + i / 2 * 8] = sum[i];
}

/// Computes the weights of a page for the warp's two queries, with two keys per lane: p = exp(score
/// - top). p is rounded before it is summed, so that the sum and the product use the same numbers.
__device__ void weigh_page(const Shared& s, std::int64_t visible, bool begins, float scale) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int query = 2 * warp; query < 2 * warp + 2; ++query) {
    const float before = begins ? kBelowAllScores : s.top[query],
                mass = begins ? 0.0F : s.mass[query];
    const float low =
        2 * lane < visible ? s.scores[query * kKeys + 2 * lane] * scale : kBelowAllScores;
    const float high =
        2 * lane + 1 < visible ? s.scores[query * kKeys + 2 * lane + 1] * scale : kBelowAllScores;
    const float top = fmaxf(before, warp_max(fmaxf(low, high)));
    const unsigned pair = packed_bf16(2 * lane < visible ? expf(low - top) : 0.0F,
                                      2 * lane + 1 < visible ? expf(high - top) : 0.0F);
    *reinterpret_cast<unsigned*>(s.weights + query * (kKeys + kPad) + 2 * lane) = pair;
    const float sum = warp_sum(__uint_as_float(pair << 16) + __uint_as_float(pair & 0xFFFF0000U)),
                kept = expf(before - top);
    __syncwarp();  // from here on all lanes have read the query's state
    if (lane == 0) s.kept[query] = kept, s.top[query] = top, s.mass[query] = fmaf(mass, kept, sum);
  }
}

/// sum = kept sum + values^T weights, for 16 dimensions and all queries of the block.
__device__ void add_values(const Shared& s, const Bf16* values, int stride, int dimension,
                           float (&sum)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = 0; i < 4; ++i) sum[i] *= s.kept[lane % 4 * 2 + i % 2];
  for (int k = 0; k < kKeys; k += 16) {
    unsigned a[4];  // matrices (dimensions 0-7, keys 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15),
                    // which are transposed in memory
    load_transposed_matrices(
        a, values + (k + lane / 16 * 8 + lane % 8) * stride + dimension + lane / 8 % 2 * 8);
    const auto* weights =
        reinterpret_cast<const unsigned*>(s.weights + lane / 4 * (kKeys + kPad) + k + lane % 4 * 2);
    const unsigned b[2] = {weights[0], weights[4]};
    multiply_add(sum, a, b);
  }
}

/// kTiles: tiles of 16 dimensions per warp.
template <int kTiles>
__global__ void __launch_bounds__(kWarps* kWarp) attention_block(Operands a) {
  const std::int64_t group = a.shape.q_heads / a.shape.kv_heads,
                     parts = (group + kQueries - 1) / kQueries;
  const std::int64_t row = blockIdx.x, key_head = a.part.first + blockIdx.y / parts,
                     skipped = blockIdx.y % parts * kQueries;
  const std::int64_t first = key_head * group + skipped,
                     count = group - skipped < kQueries ? group - skipped : kQueries;
  const AttentionRow keys = a.rows[row];
  const std::int64_t pages = (keys.keys + kKeys - 1) / kKeys;
  const Shared s(a.width);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp, query = lane % 4 * 2;
  float sum[kTiles][4] = {}, total[kTiles][4] = {},
        total_top[2] = {kBelowAllScores, kBelowAllScores}, total_mass[2] = {};
  load_queries(a, row, first, count, s.queries);
  load_page(a, keys, key_head, 0, s.keys(0), s.values(0));
  commit_copies();
  for (std::int64_t p = 0; p < pages; ++p) {
    wait_for_copies<0>();
    __syncthreads();  // page p has arrived, and no thread reads the other page any more
    if (p + 1 < pages) load_page(a, keys, key_head, p + 1, s.keys(p + 1), s.values(p + 1));
    commit_copies();
    score_page(s, s.keys(p), a.width);
    __syncthreads();
    weigh_page(s, keys.keys - p * kKeys, p % kSplitPages == 0, a.scale);
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      if ((tile * kWarps + warp) * 16 < a.width)
        add_values(s, s.values(p), a.width + kPad, (tile * kWarps + warp) * 16, sum[tile]);
    if ((p + 1) % kSplitPages != 0 && p + 1 != pages) continue;
    for (int i = 0; i < 2; ++i) {  // The split is complete and goes into the total of query + i.
      const float top = fmaxf(total_top[i], s.top[query + i]), kept = expf(total_top[i] - top),
                  joins = expf(s.top[query + i] - top);
      total_mass[i] = fmaf(total_mass[i], kept, s.mass[query + i] * joins);
      total_top[i] = top;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        for (int half = 0; half < 2; ++half) {
          total[tile][i + 2 * half] =
              fmaf(total[tile][i + 2 * half], kept, sum[tile][i + 2 * half] * joins);
          sum[tile][i + 2 * half] = 0.0F;
        }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t c = (tile * kWarps + warp) * 16 + lane / 4 + i / 2 * 8,
                         at =
                             (row * a.shape.q_heads + first + query + i % 2) * a.shape.head_dim + c;
      const float value = total[tile][i] / total_mass[i % 2];
      if (query + i % 2 < count && c < a.shape.head_dim) a.out[at] = value;
      if (a.rounded == nullptr) continue;
      const float next = __shfl_down_sync(0xFFFFFFFFU, value, 4);  // the value of dimension c + 1
      if (lane / 4 % 2 == 0 && query + i % 2 < count && c < a.shape.head_dim)
        a.rounded[at / 2] = packed_bf16(value, next);
    }
}

template <int kTiles>
void launch_attention(const ExecutionContext& context, const Operands& a, std::int64_t n) {
  const std::int64_t parts = (a.shape.q_heads / a.shape.kv_heads + kQueries - 1) / kQueries;
  const std::size_t bytes = shared_bytes(a.width);
  check(cudaFuncSetAttribute(attention_block<kTiles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes(kTiles * 64))),
        "cudaFuncSetAttribute");
  const dim3 grid(static_cast<unsigned>(n),
                  static_cast<unsigned>((a.part.last - a.part.first) * parts));
  launch(context, "attention", attention_block<kTiles>, {grid, kWarps * kWarp, bytes}, a);
}

/// Each thread stores one word, which is two neighbouring dimensions.
__global__ void store_positions_each(std::int64_t count, const float* k, const float* v,
                                     const AttentionRow* rows, const std::int32_t* source,
                                     HeadShape shape, std::int64_t width, std::int64_t offset) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t d = shape.head_dim, c = at % (width / 2) * 2,
                     head = at / (width / 2) % shape.kv_heads,
                     row = at / (width / 2) / shape.kv_heads;
  const std::int64_t from =
                         ((source == nullptr ? row : source[row]) * shape.kv_heads + head) * d + c,
                     position = rows[row].keys - 1;
  auto* page = static_cast<char*>(const_cast<void*>(rows[row].pages[position / kKeys])) + offset;
  auto* to = reinterpret_cast<unsigned*>(page) +
             (head * 2 * kKeys + position % kKeys) * (width / 2) + c / 2;
  to[0] = packed_bf16(c < d ? k[from] : 0.0F, c + 1 < d ? k[from + 1] : 0.0F);
  to[kKeys * (width / 2)] = packed_bf16(c < d ? v[from] : 0.0F, c + 1 < d ? v[from + 1] : 0.0F);
}

}  // namespace

void store_positions(ExecutionContext& context, const float* k, const float* v,
                     const AttentionRow* rows, std::int64_t n, HeadShape shape, std::int64_t offset,
                     const std::int32_t* source) {
  const std::int64_t width = head_width(shape);
  launch_each(context, "store_positions", store_positions_each, n * shape.kv_heads * width / 2, k,
              v, rows, source, shape, width, offset);
}

void attention(ExecutionContext& context, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out, Bf16* rounded) {
  if (n == 0 || part.first == part.last) return;
  const std::int64_t width = shape.q_heads * shape.head_dim;
  // Rows are written directly if they consist of whole words and are not padded.
  const bool at_once = rounded != nullptr && shape.head_dim % 2 == 0 && stepped(width) == width;
  const Operands a{q,
                   rows,
                   shape,
                   part,
                   static_cast<int>(head_width(shape)),
                   1.0F / sqrtf(static_cast<float>(shape.head_dim)),
                   out,
                   at_once ? reinterpret_cast<unsigned*>(rounded) : nullptr};
  if (a.width <= 64) launch_attention<1>(context, a, n);
  else if (a.width <= 128) launch_attention<2>(context, a, n);
  else launch_attention<4>(context, a, n);
  if (rounded != nullptr && !at_once) round_rows(context, out, n, width, rounded);
}

}  // namespace rollcall::kernels::cuda
