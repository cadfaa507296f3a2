// Attention and its backward on a CUDA device: one warp per query row and head, keys in ascending order, no atomics.
#include "kernels/device.cuh"
#include "kernels/packing.hpp"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

__device__ float dot(const float* a, const float* b, std::int64_t d) {
  float sum = 0.0F;
  for (std::int64_t c = 0; c < d; ++c) sum = fmaf(a[c], b[c], sum);
  return sum;
}

/// Largest score of the row; lane l looks at keys l, l + 32, ...
__device__ float largest_score(const float* q, const float* k, std::int64_t keys, std::int64_t stride, std::int64_t d, float scale) {
  float largest = -FLT_MAX;
  for (std::int64_t j = threadIdx.x; j < keys; j += kWarp) largest = fmaxf(largest, dot(q, k + j * stride, d) * scale);
  return warp_max(largest);
}

/// A row's keys and values of one head in fp32 pages (packing.hpp): keys [panel of 16 positions][d][16], values [panel of 16 dimensions][64 positions][16].
struct PagedHead {
  AttentionRow row;
  std::int64_t d, offset, begin;  ///< in a page: of the layer in bytes, and from there of the head in floats
  __device__ PagedHead(const AttentionRow& r, HeadShape shape, std::int64_t layer_offset, std::int64_t head)
      : row(r), d(shape.head_dim), offset(layer_offset), begin(head * kPageKeys * (shape.head_dim + (shape.head_dim + 15) / 16 * 16)) {}
  __device__ const float* page(std::int64_t j) const {
    return reinterpret_cast<const float*>(static_cast<const char*>(row.pages[j / kPageKeys]) + offset) + begin;
  }
  __device__ float score(const float* q, std::int64_t j) const {
    const float* k = page(j) + j % kPageKeys / 16 * 16 * d + j % 16;
    float sum = 0.0F;
    for (std::int64_t c = 0; c < d; ++c) sum = fmaf(q[c], k[c * 16], sum);
    return sum;
  }
  __device__ float value(std::int64_t j, std::int64_t c) const { return page(j)[kPageKeys * d + (c / 16 * kPageKeys + j % kPageKeys) * 16 + c % 16]; }
};

/// Block (row i, head h of the part's): a warp goes over the keys 32 at a time, each lane weighing one; then lane c sums dimension c (and c + 32, ...) in shared memory.
__global__ void attention_row(const float* q, const AttentionRow* rows, HeadShape shape, AttentionPart part, float scale, float* out) {
  extern __shared__ float sum[];  // [head_dim]; element c belongs to lane c % 32 alone
  const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads, heads = (part.last - part.first) * group;
  const std::int64_t i = blockIdx.x / heads, h = part.first * group + blockIdx.x % heads, at = (i * shape.q_heads + h) * d;
  const PagedHead head(rows[i], shape, part.offset, h / group);
  const std::int64_t keys = rows[i].keys;
  float largest = -FLT_MAX;
  for (std::int64_t j = threadIdx.x; j < keys; j += kWarp) largest = fmaxf(largest, head.score(q + at, j) * scale);
  largest = warp_max(largest);
  for (std::int64_t c = threadIdx.x; c < d; c += kWarp) sum[c] = 0.0F;
  float total = 0.0F;
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    const std::int64_t own = first + threadIdx.x;
    const float weight = own < keys ? expf(head.score(q + at, own) * scale - largest) : 0.0F;
    total += weight;
    for (int lane = 0; lane < kWarp && first + lane < keys; ++lane) {
      const float broadcast = __shfl_sync(0xFFFFFFFFU, weight, lane);
      for (std::int64_t c = threadIdx.x; c < d; c += kWarp) sum[c] = fmaf(broadcast, head.value(first + lane, c), sum[c]);
    }
  }
  total = warp_sum(total);
  for (std::int64_t c = threadIdx.x; c < d; c += kWarp) out[at + c] = sum[c] / total;
}

float score_scale(const HeadShape& shape) { return 1.0F / sqrtf(static_cast<float>(shape.head_dim)); }

void attention(ExecutionContext& context, const float* q, const AttentionRow* rows, std::int64_t n, HeadShape shape, AttentionPart part, float* out) {
  const std::int64_t heads = (part.last - part.first) * (shape.q_heads / shape.kv_heads);
  launch_rows(context, "attention", attention_row, n * heads, shape.head_dim, q, rows, shape, part, score_scale(shape), out);
}

/// The last queries of one causal sequence; p and ds are [queries, q_heads, keys], filled for the keys that a query sees. Of the key heads [begin, end).
struct Backward {
  const float *q, *k, *v, *dout;
  float *dq, *dk, *dv, *p, *ds;
  std::int64_t queries, keys;
  HeadShape shape;
  std::int64_t begin, end;
  float scale;
  __device__ std::int64_t group() const { return shape.q_heads / shape.kv_heads; }
  __device__ std::int64_t stride() const { return shape.kv_heads * shape.head_dim; }
  __device__ std::int64_t seen(std::int64_t i) const { return keys - queries + i + 1; }
  __device__ bool wants(std::int64_t kv_head) const { return kv_head >= begin && kv_head < end; }
};

/// Block (query i, head h): p = softmax, ds = p (dout . v - sum p (dout . v)) scale.
__global__ void score_gradients_row(Backward a) {
  const std::int64_t d = a.shape.head_dim, i = blockIdx.x / a.shape.q_heads, h = blockIdx.x % a.shape.q_heads, at = blockIdx.x * d, keys = a.seen(i);
  if (!a.wants(h / a.group())) return;
  const float *k = a.k + h / a.group() * d, *v = a.v + h / a.group() * d;
  float *p = a.p + blockIdx.x * a.keys, *ds = a.ds + blockIdx.x * a.keys;
  const float largest = largest_score(a.q + at, k, keys, a.stride(), d, a.scale);
  float total = 0.0F, mean = 0.0F;
  for (std::int64_t j = threadIdx.x; j < keys; j += kWarp) total += p[j] = expf(dot(a.q + at, k + j * a.stride(), d) * a.scale - largest);
  total = warp_sum(total);
  for (std::int64_t j = threadIdx.x; j < keys; j += kWarp) {
    p[j] /= total;
    ds[j] = dot(a.dout + at, v + j * a.stride(), d);
    mean = fmaf(p[j], ds[j], mean);
  }
  mean = warp_sum(mean);
  for (std::int64_t j = threadIdx.x; j < keys; j += kWarp) ds[j] = p[j] * (ds[j] - mean) * a.scale;
}

/// One element of dq per thread.
__global__ void dq_each(std::int64_t count, Backward a) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t d = a.shape.head_dim, c = at % d, row = at / d, i = row / a.shape.q_heads, h = row % a.shape.q_heads;
  if (!a.wants(h / a.group())) return;
  float sum = 0.0F;
  for (std::int64_t j = 0; j < a.seen(i); ++j) sum = fmaf(a.ds[row * a.keys + j], a.k[j * a.stride() + h / a.group() * d + c], sum);
  a.dq[at] = sum;
}

/// One element of dk and dv per thread, over the query heads of its group and the later queries in ascending order.
__global__ void dk_dv_each(std::int64_t count, Backward a) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t d = a.shape.head_dim, c = at % d, kv_head = at / d % a.shape.kv_heads, j = at / a.stride();
  if (!a.wants(kv_head)) return;
  const std::int64_t before = a.keys - a.queries;
  float k_sum = 0.0F, v_sum = 0.0F;
  for (std::int64_t h = kv_head * a.group(); h < (kv_head + 1) * a.group(); ++h)
    for (std::int64_t i = j > before ? j - before : 0; i < a.queries; ++i) {
      const std::int64_t row = i * a.shape.q_heads + h;
      k_sum = fmaf(a.ds[row * a.keys + j], a.q[row * d + c], k_sum);
      v_sum = fmaf(a.p[row * a.keys + j], a.dout[row * d + c], v_sum);
    }
  a.dk[at] = k_sum;
  a.dv[at] = v_sum;
}

void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v, const float* dout, std::int64_t queries, std::int64_t keys,
                        HeadShape shape, std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv) {
  if (queries == 0) return;
  const std::int64_t rows = queries * shape.q_heads;
  const Scratch p(context, rows * keys), ds(context, rows * keys);
  const Backward a{q, k, v, dout, dq, dk, dv, p.floats(), ds.floats(), queries, keys, shape, begin, end, score_scale(shape)};
  launch_rows(context, "attention_backward", score_gradients_row, rows, 0, a);
  launch_each(context, "attention_backward", dq_each, rows * shape.head_dim, a);
  launch_each(context, "attention_backward", dk_dv_each, keys * shape.kv_heads * shape.head_dim, a);
}

}  // namespace

void add_attention(KernelSet& set) {
  set.page_bytes = page_bytes_fp32;
  set.store_position = store_position_fp32;
  set.copy_positions = copy_positions_fp32;
  set.attention = attention;
  set.attention_backward = attention_backward;
}

}  // namespace rollcall::kernels::cuda
