// What goes row by row or element by element: embedding, residual add, norm, rotary embedding, SwiGLU. A warp a row where a row is summed, else a thread an element.
#include "kernels/cuda/device.cuh"

namespace rollcall::kernels::cuda {
namespace {

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

/// One pair per thread.
__global__ void rope_each(std::int64_t count, float* x, std::int64_t heads, std::int64_t head_dim, const std::int32_t* position, const float* cos,
                          const float* sin, float sign) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t half = head_dim / 2, j = at % half, head = at / half, angle = position[head / heads] * half + j;
  float &first = x[head * head_dim + j], &second = x[head * head_dim + half + j];
  const float a = first, b = second, c = cos[angle], s = sin[angle] * sign;
  first = fmaf(a, c, -(b * s));
  second = fmaf(b, c, a * s);
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

__global__ void swiglu_backward_each(std::int64_t count, const float* gate, const float* up, const float* dy, float* dgate, float* dup) {
  const std::int64_t i = element();
  if (i >= count) return;
  const float g = gate[i], d = dy[i];
  const float2 s = sigmoid(g);
  dgate[i] = d * up[i] * s.x * fmaf(g, s.y, 1.0F);
  dup[i] = d * g * s.x;
}

__device__ float widened(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }

__global__ void embed_each(std::int64_t count, Rows16 table, const std::int32_t* token, float* x) {
  const std::int64_t at = element();
  if (at < count) x[at] = widened(table.rows[token[at / table.columns] * ((table.columns + kStep - 1) / kStep * kStep) + at % table.columns]);
}

__global__ void embed_backward_each(std::int64_t count, const float* dx, const std::int32_t* token, std::int64_t width, double scale, std::int64_t* sum,
                                    unsigned* largest) {
  const std::int64_t at = element();
  if (at < count) add_atomically(sum + token[at / width] * width + at % width, nearest_integer(dx[at] * scale));
  if (largest != nullptr) note_largest(at < count ? dx[at] : 0.0F, largest);
}

__global__ void add_each(std::int64_t count, const float* x, float* y) {
  const std::int64_t i = element();
  if (i < count) y[i] += x[i];
}

__global__ void sum_rows_each(std::int64_t count, const float* const* row, const std::int32_t* begin, std::int64_t width, float* y) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t i = at / width, first = begin == nullptr ? i : begin[i], last = begin == nullptr ? i + 1 : begin[i + 1];
  float sum = first < last ? row[first][at % width] : 0.0F;
  for (std::int64_t r = first + 1; r < last; ++r) sum += row[r][at % width];
  y[at] = sum;
}

/// One column per thread, rows in ascending order.
__global__ void sum_columns_each(std::int64_t width, const float* x, std::int64_t n, float* y) {
  const std::int64_t j = element();
  if (j >= width) return;
  float sum = 0.0F;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i * width + j];
  y[j] = sum;
}

}  // namespace

void embed(ExecutionContext& context, const Rows16& table, const std::int32_t* token, std::int64_t n, float* x) {
  launch_each(context, "embed", embed_each, n * table.columns, table, token, x);
}

void embed_backward(ExecutionContext& context, const float* dx, const std::int32_t* token, std::int64_t n, std::int64_t width, double scale, std::int64_t* sum,
                    float* largest) {
  launch_each(context, "embed_backward", embed_backward_each, n * width, dx, token, width, scale, sum, reinterpret_cast<unsigned*>(largest));
}

void add(ExecutionContext& context, const float* x, std::int64_t count, float* y) { launch_each(context, "add", add_each, count, x, y); }

void sum_rows(ExecutionContext& context, const float* const* row, const std::int32_t* begin, std::int64_t n, std::int64_t width, float* y) {
  launch_each(context, "sum_rows", sum_rows_each, n * width, row, begin, width, y);
}

void sum_columns(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t width, float* y) {
  launch_each(context, "sum_columns", sum_columns_each, width, x, n, y);
}

void rms_norm(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d, const float* weight, float eps, float* y) {
  launch_rows(context, "rms_norm", rms_norm_row, n, 0, x, d, weight, eps, y);
}

void rms_norm_backward(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d, const float* weight, float eps, const float* dy, float* dx,
                       float* dweight) {
  if (n == 0) return;
  const Scratch<float> inverse(context, n);
  launch_rows(context, "rms_norm_backward", rms_norm_dx_row, n, 0, x, d, weight, eps, dy, dx, inverse.get());
  launch_each(context, "rms_norm_backward", rms_norm_dweight_each, d, x, n, dy, inverse.get(), dweight);
}

void rope(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads, std::int64_t head_dim, const std::int32_t* position, const float* cos,
          const float* sin, int direction) {
  launch_each(context, "rope", rope_each, n * heads * (head_dim / 2), x, heads, head_dim, position, cos, sin, static_cast<float>(direction));
}

void swiglu(ExecutionContext& context, const float* gate, const float* up, std::int64_t n, std::int64_t f, float* y) {
  launch_each(context, "swiglu", swiglu_each, n * f, gate, up, y);
}

void swiglu_backward(ExecutionContext& context, const float* gate, const float* up, std::int64_t n, std::int64_t f, const float* dy, float* dgate, float* dup) {
  launch_each(context, "swiglu_backward", swiglu_backward_each, n * f, gate, up, dy, dgate, dup);
}

}  // namespace rollcall::kernels::cuda
