// Row-wise and element-wise operations: embedding, norm, rotary embedding and SwiGLU. A block
// computes each row that is summed. Otherwise a thread computes one or two elements. Sums over rows
// are computed in runs of kNormRows.
#include "kernels/cuda/device.cuh"

#include <stdexcept>

namespace rollcall::kernels::cuda {
namespace {

/// The number of threads that share a row. It depends on the width only, so a row's bits do
/// not depend on other rows.
int threads_of(std::int64_t d) { return d <= 4 * kWarp ? kWarp : kBlock; }

__device__ float inverse_rms(const float* x, std::int64_t d, float eps, float* of_warps) {
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j < d; j += blockDim.x) sum = fmaf(x[j], x[j], sum);
  return 1.0F / sqrtf(block_fold(sum, of_warps, Total{}) / static_cast<float>(d) + eps);
}

/// Each thread computes two neighbouring elements, so that a word of rounded ones has one writer.
__global__ void rms_norm_row(const float* x, std::int64_t d, const float* weight, float eps,
                             float* y, unsigned* rounded, std::int64_t stride) {
  __shared__ float of_warps[kBlock / kWarp];
  const std::int64_t row = blockIdx.x * d, end = rounded == nullptr ? d : stride;
  const float r = inverse_rms(x + row, d, eps, of_warps);
  for (std::int64_t j = 2 * threadIdx.x; j < end; j += 2 * blockDim.x) {
    const float low = j < d ? x[row + j] * r * weight[j] : 0.0F,
                high = j + 1 < d ? x[row + j + 1] * r * weight[j + 1] : 0.0F;
    if (j < d) y[row + j] = low;
    if (j + 1 < d) y[row + j + 1] = high;
    if (rounded != nullptr) rounded[(blockIdx.x * stride + j) / 2] = packed_bf16(low, high);
  }
}

/// dx of one row. The inverse rms of the row is kept for dweight.
__global__ void rms_norm_dx_row(const float* x, std::int64_t d, const float* weight, float eps,
                                const float* dy, float* dx, float* inverse) {
  __shared__ float of_warps[2][kBlock / kWarp];
  const std::int64_t row = blockIdx.x * d;
  const float r = inverse_rms(x + row, d, eps, of_warps[0]);
  float sum = 0.0F;
  for (std::int64_t j = threadIdx.x; j < d; j += blockDim.x)
    sum = fmaf(x[row + j] * weight[j], dy[row + j], sum);
  const float pull = -(r * r * (block_fold(sum, of_warps[1], Total{}) / static_cast<float>(d)));
  for (std::int64_t j = threadIdx.x; j < d; j += blockDim.x)
    dx[row + j] = r * fmaf(x[row + j], pull, weight[j] * dy[row + j]);
  if (threadIdx.x == 0) inverse[blockIdx.x] = r;
}

/// Each thread sums one column of kNormRows rows in ascending order: sums[part][d].
__global__ void rms_norm_dweight_part(std::int64_t d, const float* x, std::int64_t n,
                                      const float* dy, const float* inverse, float* sums) {
  const std::int64_t j = element(), begin = blockIdx.y * kNormRows,
                     end = begin + kNormRows < n ? begin + kNormRows : n;
  if (j >= d) return;
  float sum = 0.0F;
  for (std::int64_t i = begin; i < end; ++i)
    sum = fmaf(dy[i * d + j], x[i * d + j] * inverse[i], sum);
  sums[blockIdx.y * d + j] = sum;
}
/// Adds the parts in ascending order to dweight.
__global__ void rms_norm_dweight_each(std::int64_t d, const float* sums, std::int64_t parts,
                                      float* dweight) {
  const std::int64_t j = element();
  if (j >= d) return;
  float sum = dweight[j];
  for (std::int64_t p = 0; p < parts; ++p) sum += sums[p * d + j];
  dweight[j] = sum;
}

/// Each thread rotates one pair.
__global__ void rope_each(std::int64_t count, float* x, std::int64_t heads, std::int64_t head_dim,
                          const std::int32_t* position, const float* cos, const float* sin,
                          float sign) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t half = head_dim / 2, j = at % half, head = at / half,
                     angle = position[head / heads] * half + j;
  float &first = x[head * head_dim + j], &second = x[head * head_dim + half + j];
  const float a = first, b = second, c = cos[angle], s = sin[angle] * sign;
  first = fmaf(a, c, -(b * s));
  second = fmaf(b, c, a * s);
}

/// sigmoid(x) and 1 - sigmoid(x). Both come from exp(-|x|), so that neither suffers cancellation.
__device__ float2 sigmoid(float x) {
  const float e = expf(-fabsf(x)), large = 1.0F / (1.0F + e), small = e * large;
  return x < 0.0F ? make_float2(small, large) : make_float2(large, small);
}

/// Each thread computes two neighbouring elements of a row.
__global__ void swiglu_each(std::int64_t count, const float* gate, const float* up, std::int64_t f,
                            std::int64_t stride, float* y, unsigned* rounded) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t row = at / (stride / 2), j = at % (stride / 2) * 2, i = row * f + j;
  const float low = j < f ? gate[i] * sigmoid(gate[i]).x * up[i] : 0.0F,
              high = j + 1 < f ? gate[i + 1] * sigmoid(gate[i + 1]).x * up[i + 1] : 0.0F;
  if (j < f) y[i] = low;
  if (j + 1 < f) y[i + 1] = high;
  if (rounded != nullptr) rounded[at] = packed_bf16(low, high);
}

__global__ void swiglu_backward_each(std::int64_t count, const float* gate, const float* up,
                                     const float* dy, float* dgate, float* dup) {
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
  if (at < count)
    x[at] = widened(
        table.rows[token[at / table.columns] * ((table.columns + kStep - 1) / kStep * kStep) +
                   at % table.columns]);
}

__global__ void embed_backward_each(std::int64_t count, const float* dx, const std::int32_t* token,
                                    std::int64_t width, double scale, std::int64_t* sum,
                                    unsigned* largest) {
  const std::int64_t at = element();
  if (at < count)
    add_atomically(sum + token[at / width] * width + at % width, nearest_integer(dx[at] * scale));
  if (largest != nullptr) note_largest(at < count ? size_of(dx[at]) : 0U, largest);
}

__global__ void add_each(std::int64_t count, const float* x, float* y) {
  const std::int64_t i = element();
  if (i < count) y[i] += x[i];
}

__global__ void sum_rows_each(std::int64_t count, const float* const* row,
                              const std::int32_t* begin, std::int64_t width, float* y) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t i = at / width, first = begin == nullptr ? i : begin[i],
                     last = begin == nullptr ? i + 1 : begin[i + 1];
  float sum = first < last ? row[first][at % width] : 0.0F;
  for (std::int64_t r = first + 1; r < last; ++r) sum += row[r][at % width];
  y[at] = sum;
}

/// Each thread sums one column of kNormRows rows in ascending order: y[part][width].
__global__ void sum_columns_part(std::int64_t width, const float* x, std::int64_t n, float* y) {
  const std::int64_t j = element(), begin = blockIdx.y * kNormRows,
                     end = begin + kNormRows < n ? begin + kNormRows : n;
  if (j >= width) return;
  float sum = 0.0F;
  for (std::int64_t i = begin; i < end; ++i) sum += x[i * width + j];
  y[blockIdx.y * width + j] = sum;
}

}  // namespace

void embed(ExecutionContext& context, const Rows16& table, const std::int32_t* token,
           std::int64_t n, float* x) {
  launch_each(context, "embed", embed_each, n * table.columns, table, token, x);
}

void embed_backward(ExecutionContext& context, const float* dx, const std::int32_t* token,
                    std::int64_t n, std::int64_t width, double scale, std::int64_t* sum,
                    float* largest) {
  launch_each(context, "embed_backward", embed_backward_each, n * width, dx, token, width, scale,
              sum, reinterpret_cast<unsigned*>(largest));
}

void add(ExecutionContext& context, const float* x, std::int64_t count, float* y) {
  launch_each(context, "add", add_each, count, x, y);
}

void sum_rows(ExecutionContext& context, const float* const* row, const std::int32_t* begin,
              std::int64_t n, std::int64_t width, float* y) {
  launch_each(context, "sum_rows", sum_rows_each, n * width, row, begin, width, y);
}

void sum_columns(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t width,
                 float* y) {
  if (width == 0) return;
  const std::int64_t parts = (n + kNormRows - 1) / kNormRows;
  // A grid has at most 65,535 blocks in y.
  if (parts > 65535) throw std::invalid_argument("sum_columns: more than 4,194,240 rows");
  const auto of_parts = [&](const float* from, std::int64_t rows, float* to) {
    const dim3 grid(
        static_cast<unsigned>((width + kBlock - 1) / kBlock),
        static_cast<unsigned>(rows > kNormRows ? (rows + kNormRows - 1) / kNormRows : 1));
    launch(context, "sum_columns", sum_columns_part, {grid, kBlock}, width, from, rows, to);
  };
  if (parts <= 1) return of_parts(x, n, y);
  const Scratch<float> sums(context, parts * width);
  of_parts(x, n, sums.get());
  sum_columns(context, sums.get(), parts, width, y);
}

void rms_norm(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y, Bf16* rounded) {
  launch_rows(context, "rms_norm", rms_norm_row, n, threads_of(d), x, d, weight, eps, y,
              reinterpret_cast<unsigned*>(rounded), stepped(d));
}

void rms_norm_backward(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, const float* dy, float* dx, float* dweight) {
  if (n == 0) return;
  constexpr std::int64_t kMost = 32768 * kNormRows;  // a grid has at most 65,535 blocks in y
  const Scratch<float> scratch(context, norm_backward_floats(n < kMost ? n : kMost, d));
  for (std::int64_t first = 0; first < n; first += kMost) {
    const std::int64_t rows = n - first < kMost ? n - first : kMost,
                       parts = (rows + kNormRows - 1) / kNormRows;
    const float *of_x = x + first * d, *of_dy = dy + first * d;
    float *inverse = scratch.get(), *sums = inverse + rows;
    launch_rows(context, "rms_norm_backward", rms_norm_dx_row, rows, threads_of(d), of_x, d, weight,
                eps, of_dy, dx + first * d, inverse);
    launch(context, "rms_norm_backward", rms_norm_dweight_part,
           {dim3(static_cast<unsigned>((d + kBlock - 1) / kBlock), static_cast<unsigned>(parts)),
            kBlock},
           d, of_x, rows, of_dy, inverse, sums);
    launch_each(context, "rms_norm_backward", rms_norm_dweight_each, d, sums, parts, dweight);
  }
}

void rope(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads,
          std::int64_t head_dim, const std::int32_t* position, const float* cos, const float* sin,
          int direction) {
  launch_each(context, "rope", rope_each, n * heads * (head_dim / 2), x, heads, head_dim, position,
              cos, sin, static_cast<float>(direction));
}

void swiglu(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
            std::int64_t f, float* y, Bf16* rounded) {
  launch_each(context, "swiglu", swiglu_each, n * stepped(f) / 2, gate, up, f, stepped(f), y,
              reinterpret_cast<unsigned*>(rounded));
}

void swiglu_backward(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
                     std::int64_t f, const float* dy, float* dgate, float* dup) {
  launch_each(context, "swiglu_backward", swiglu_backward_each, n * f, gate, up, dy, dgate, dup);
}

}  // namespace rollcall::kernels::cuda
