// Backward of causal attention over one sequence: probabilities and their derivatives in memory, then one element of dq, dk and dv a thread; no atomics.
#include "kernels/cuda/device.cuh"

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

float score_scale(const HeadShape& shape) { return 1.0F / sqrtf(static_cast<float>(shape.head_dim)); }

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

}  // namespace

void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v, const float* dout, std::int64_t queries, std::int64_t keys,
                        HeadShape shape, std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv) {
  if (queries == 0) return;
  const std::int64_t rows = queries * shape.q_heads;
  const Scratch<float> p(context, rows * keys), ds(context, rows * keys);
  const Backward a{q, k, v, dout, dq, dk, dv, p.get(), ds.get(), queries, keys, shape, begin, end, score_scale(shape)};
  launch_rows(context, "attention_backward", score_gradients_row, rows, 0, a);
  launch_each(context, "attention_backward", dq_each, rows * shape.head_dim, a);
  launch_each(context, "attention_backward", dk_dv_each, keys * shape.kv_heads * shape.head_dim, a);
}

}  // namespace rollcall::kernels::cuda
