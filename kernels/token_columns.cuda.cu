// Token columns and their backward on a CUDA device: one warp per row of logits. Formulas are those of token_columns.simd.hpp.
#include "kernels/device.cuh"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

constexpr float kLogFloor = -104.0F;  // exp is 0 in fp32 from here down; keeps 0 * -inf out

/// Not below the floor; a NaN stays one.
__device__ float floored(float x) { return x < kLogFloor ? kLogFloor : x; }

/// What is known of a row after some of its blocks: with x = z - largest, sum of exp x and of x exp x. Every lane holds the same.
struct RowSums {
  float largest, sum, weighted;
};

__device__ RowSums block_sums(const float* logits, std::int64_t count, float scale, float* kept) {
  float largest = -FLT_MAX, sum = 0.0F, weighted = 0.0F;
  for (std::int64_t j = threadIdx.x; j < count; j += kWarp) largest = fmaxf(largest, logits[j] * scale);
  largest = warp_max(largest);
  for (std::int64_t j = threadIdx.x; j < count; j += kWarp) {
    const float x = floored(logits[j] * scale - largest), e = expf(x);
    sum += e;
    weighted = fmaf(e, x, weighted);
    if (kept != nullptr) kept[j] = e;
  }
  return {largest, warp_sum(sum), warp_sum(weighted)};
}

__device__ RowSums joined(RowSums a, RowSums b) {
  const float top = fmaxf(a.largest, b.largest), a_low = floored(a.largest - top), b_low = floored(b.largest - top);
  const float a_share = expf(a_low), b_share = expf(b_low);
  return {top, fmaf(a_share, a.sum, b_share * b.sum), fmaf(a_share, fmaf(a_low, a.sum, a.weighted), b_share * fmaf(b_low, b.sum, b.weighted))};
}

__global__ void token_columns_row(const float* logits, std::int64_t v, float scale, const std::int32_t* target, float* logprob, float* entropy, float* lse,
                                  BlockMass* blocks, float* e) {
  const float* row = logits + blockIdx.x * v;
  BlockMass* mass = blocks + blockIdx.x * ((v + kVocabularyBlock - 1) / kVocabularyBlock + 1);
  RowSums sums{};
  for (std::int64_t begin = 0; begin < v; begin += kVocabularyBlock) {
    const RowSums block =
        block_sums(row + begin, v - begin < kVocabularyBlock ? v - begin : kVocabularyBlock, scale, e == nullptr ? nullptr : e + blockIdx.x * v + begin);
    sums = begin == 0 ? block : joined(sums, block);
    if (blocks != nullptr && threadIdx.x == 0) *mass++ = {block.largest, block.sum};
  }
  if (threadIdx.x != 0) return;
  const float log_sum = logf(sums.sum);
  const std::int32_t chosen = target[blockIdx.x];
  if (blocks != nullptr) *mass = {sums.largest, log_sum};
  lse[blockIdx.x] = sums.largest + log_sum;
  entropy[blockIdx.x] = log_sum - sums.weighted / sums.sum;
  logprob[blockIdx.x] = chosen < 0 ? 0.0F : row[chosen] * scale - sums.largest - log_sum;
}

void token_columns(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                   float* logprob, float* entropy, float* lse, BlockMass* blocks, float* e) {
  launch_rows(context, "token_columns", token_columns_row, n, 0, logits, v, inverse_temperature, target, logprob, entropy, lse, blocks, e);
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
  const float through_logprob = a.dlogprob[i];
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
