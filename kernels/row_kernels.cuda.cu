// linear, rms_norm, rope and swiglu on a CUDA device: one thread per output, or one warp per row where a row is summed.
#include "kernels/device.cuh"
#include "kernels/packing.hpp"

#include <algorithm>

namespace rollcall::kernels::cuda {
namespace {

/// One output per thread, FMA over ascending k: the bits of the host tables. Neighbouring threads read neighbouring outputs of a panel.
__global__ void linear_each(std::int64_t count, const float* x, std::int64_t k, const float* packed, std::int64_t first, std::int64_t outputs, std::int64_t o,
                            const float* bias, float* y) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t row = at / outputs, output = first + at % outputs;
  const float* panel = packed + output / kPanel * kPanel * k + output % kPanel;
  float sum = 0.0F;
  for (std::int64_t j = 0; j < k; ++j) sum = fmaf(x[row * k + j], panel[j * kPanel], sum);
  y[row * o + output] = bias ? sum + bias[output] : sum;
}

void linear(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k, const Product* products, int count, int, std::int64_t begin,
            std::int64_t end) {
  for (int i = 0; i < count; ++i) {
    const auto& [packed, o, bias, y] = products[i];
    const std::int64_t first = std::max<std::int64_t>(begin, 0) * kPanel, outputs = std::min(end * kPanel, o) - first;
    if (outputs > 0) launch_each(context, "linear", linear_each, n * outputs, x, k, static_cast<const float*>(packed), first, outputs, o, bias, y);
    begin -= panels_of(o), end -= panels_of(o);
  }
}

__device__ float inverse_rms(const float* x, std::int64_t d, float eps) {
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j < d; j += kWarp) sum = fmaf(x[j], x[j], sum);
  return 1.0F / sqrtf(warp_sum(sum) / static_cast<float>(d) + eps);
}

__global__ void rms_norm_row(const float* x, std::int64_t d, const float* weight, float eps, float* y) {
  const std::int64_t row = blockIdx.x * d;
  const float r = inverse_rms(x + row, d, eps);
  for (std::int64_t j = threadIdx.x; j < d; j += kWarp) y[row + j] = x[row + j] * r * weight[j];
}

void rms_norm(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d, const float* weight, float eps, float* y) {
  launch_rows(context, "rms_norm", rms_norm_row, n, 0, x, d, weight, eps, y);
}

/// dx of one row; the row's inverse rms is kept for dweight.
__global__ void rms_norm_dx_row(const float* x, std::int64_t d, const float* weight, float eps, const float* dy, float* dx, float* inverse) {
  const std::int64_t row = blockIdx.x * d;
  const float r = inverse_rms(x + row, d, eps);
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j < d; j += kWarp) sum = fmaf(x[row + j] * weight[j], dy[row + j], sum);
  const float pull = -(r * r * (warp_sum(sum) / static_cast<float>(d)));
  for (std::int64_t j = threadIdx.x; j < d; j += kWarp) dx[row + j] = r * fmaf(x[row + j], pull, weight[j] * dy[row + j]);
  if (threadIdx.x == 0) inverse[blockIdx.x] = r;
}

/// One column per thread, rows in ascending order.
__global__ void rms_norm_dweight_each(std::int64_t d, const float* x, std::int64_t n, const float* dy, const float* inverse, float* dweight) {
  const std::int64_t j = element();
  if (j >= d) return;
  float sum = dweight[j];
  for (std::int64_t i = 0; i < n; ++i) sum = fmaf(dy[i * d + j], x[i * d + j] * inverse[i], sum);
  dweight[j] = sum;
}

void rms_norm_backward(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d, const float* weight, float eps, const float* dy, float* dx,
                       float* dweight) {
  if (n == 0) return;
  const Scratch inverse(context, n);
  launch_rows(context, "rms_norm_backward", rms_norm_dx_row, n, 0, x, d, weight, eps, dy, dx, inverse.floats());
  launch_each(context, "rms_norm_backward", rms_norm_dweight_each, d, x, n, dy, inverse.floats(), dweight);
}

/// One pair per thread.
__global__ void rope_each(std::int64_t count, float* x, std::int64_t heads, std::int64_t half, const std::int32_t* position, const float* cos, const float* sin,
                          float sign) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t j = at % half, head = at / half, angle = position[head / heads] * half + j;
  float &first = x[head * 2 * half + j], &second = x[head * 2 * half + half + j];
  const float a = first, b = second, c = cos[angle], s = sin[angle] * sign;
  first = fmaf(a, c, -(b * s));
  second = fmaf(b, c, a * s);
}

void rope(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads, std::int64_t head_dim, const std::int32_t* position, const float* cos,
          const float* sin, int direction) {
  const std::int64_t half = head_dim / 2;
  launch_each(context, "rope", rope_each, n * heads * half, x, heads, half, position, cos, sin, static_cast<float>(direction));
}

/// sigmoid(x) and 1 - sigmoid(x), both from exp(-|x|), so that neither cancels.
__device__ float2 sigmoid(float x) {
  const float e = expf(-fabsf(x)), large = 1.0F / (1.0F + e), small = e * large;
  return x < 0.0F ? make_float2(small, large) : make_float2(large, small);
}

__global__ void swiglu_each(std::int64_t count, const float* gate, const float* up, float* y) {
  const std::int64_t i = element();
  if (i < count) y[i] = gate[i] * sigmoid(gate[i]).x * up[i];
}

void swiglu(ExecutionContext& context, const float* gate, const float* up, std::int64_t n, std::int64_t f, float* y) {
  launch_each(context, "swiglu", swiglu_each, n * f, gate, up, y);
}

__global__ void swiglu_backward_each(std::int64_t count, const float* gate, const float* up, const float* dy, float* dgate, float* dup) {
  const std::int64_t i = element();
  if (i >= count) return;
  const float g = gate[i], d = dy[i];
  const float2 s = sigmoid(g);
  dgate[i] = d * up[i] * s.x * fmaf(g, s.y, 1.0F);
  dup[i] = d * g * s.x;
}

void swiglu_backward(ExecutionContext& context, const float* gate, const float* up, std::int64_t n, std::int64_t f, const float* dy, float* dgate, float* dup) {
  launch_each(context, "swiglu_backward", swiglu_backward_each, n * f, gate, up, dy, dgate, dup);
}

}  // namespace

void add_linear_and_rows(KernelSet& set) {
  set.numerics = "cuda_fp32";
  set.packed_bytes = packed_bytes_fp32;
  set.pack = pack_fp32;
  set.linear = linear;
  set.rms_norm = rms_norm;
  set.rms_norm_backward = rms_norm_backward;
  set.rope = rope;
  set.swiglu = swiglu;
  set.swiglu_backward = swiglu_backward;
}

}  // namespace rollcall::kernels::cuda
