// Token columns and their backward on a CUDA device: one warp per row of logits. Formulas are those of token_columns.simd.hpp.
#include "kernels/device.cuh"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

constexpr float kLogFloor = -104.0F;  // exp is 0 in fp32 from here down; keeps 0 * -inf out

/// Not below the floor; a NaN stays one.
__device__ float floored(float x) { return x < kLogFloor ? kLogFloor : x; }

__global__ void token_columns_row(const float* logits, std::int64_t v, float scale, const std::int32_t* target, float* logprob, float* entropy, float* lse) {
  const float* row = logits + blockIdx.x * v;
  float largest = -FLT_MAX, sum = 0.0F, weighted = 0.0F;
  for (std::int64_t j = threadIdx.x; j < v; j += kWarp) largest = fmaxf(largest, row[j] * scale);
  largest = warp_max(largest);
  for (std::int64_t j = threadIdx.x; j < v; j += kWarp) {
    const float x = floored(row[j] * scale - largest), e = expf(x);
    sum += e;
    weighted = fmaf(e, x, weighted);
  }
  sum = warp_sum(sum);
  weighted = warp_sum(weighted);
  if (threadIdx.x != 0) return;
  const float log_sum = logf(sum);
  const std::int32_t chosen = target[blockIdx.x];
  lse[blockIdx.x] = largest + log_sum;
  entropy[blockIdx.x] = log_sum - weighted / sum;
  logprob[blockIdx.x] = chosen < 0 ? 0.0F : row[chosen] * scale - largest - log_sum;
}

void token_columns(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                   float* logprob, float* entropy, float* lse) {
  launch_rows(context, "token_columns", token_columns_row, n, 0, logits, v, inverse_temperature, target, logprob, entropy, lse);
}

/// Per row: lse, entropy, and the two derivatives that come in.
struct ColumnGradients {
  const float *lse, *entropy, *dlogprob, *dentropy;
};

__global__ void token_columns_backward_each(std::int64_t count, const float* logits, std::int64_t v, float scale, const std::int32_t* target, ColumnGradients a,
                                            float* dlogits) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t i = at / v, j = at % v;
  const float through_logprob = target[i] < 0 ? 0.0F : a.dlogprob[i];
  const float log_p = floored(logits[at] * scale - a.lse[i]), p = expf(log_p);
  const float spread = p * fmaf(a.dentropy[i], log_p + a.entropy[i], through_logprob);
  dlogits[at] = scale * ((j == target[i] ? through_logprob : 0.0F) - spread);
}

void token_columns_backward(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature,
                            const std::int32_t* target, const float* lse, const float* entropy, const float* dlogprob, const float* dentropy, float* dlogits) {
  const ColumnGradients a{lse, entropy, dlogprob, dentropy};
  launch_each(context, "token_columns_backward", token_columns_backward_each, n * v, logits, v, inverse_temperature, target, a, dlogits);
}

}  // namespace

void add_token_columns(KernelSet& set) {
  set.token_columns = token_columns;
  set.token_columns_backward = token_columns_backward;
}

}  // namespace rollcall::kernels::cuda
