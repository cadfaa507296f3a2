// Token columns, their backward and draws: a block of the vocabulary is summed by one block of threads, a row's blocks are joined in ascending order. Formulas are
// those of token_columns.simd.hpp.
#include "kernels/cuda/device.cuh"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

constexpr float kLogFloor = -104.0F;  // exp is 0 in fp32 from here down; keeps 0 * -inf out

/// Not below the floor; a NaN stays one.
__device__ float floored(float x) { return x < kLogFloor ? kLogFloor : x; }

/// What is known of some of a row's tokens: with x = z - largest, sum of exp x and of x exp x.
struct Sums {
  float largest, sum, weighted;
};

/// Folds over the block's threads, the same bits in all of them: butterflies within warps, then the warps in ascending order.
template <class Fold>
__device__ float block_fold(float value, float* of_warps, const Fold& fold) {
  value = fold.warp(value);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  float all = of_warps[0];
  for (int w = 1; w < kBlock / kWarp; ++w) all = fold.both(all, of_warps[w]);
  return all;
}
struct Largest {
  __device__ float warp(float x) const { return warp_max(x); }
  __device__ float both(float a, float b) const { return fmaxf(a, b); }
};
struct Total {
  __device__ float warp(float x) const { return warp_sum(x); }
  __device__ float both(float a, float b) const { return a + b; }
};

/// Block (vocabulary block, row).
__global__ void __launch_bounds__(kBlock) block_sums(const float* logits, std::int64_t v, float scale, Sums* sums) {
  __shared__ float of_warps[3][kBlock / kWarp];
  const std::int64_t begin = blockIdx.x * kVocabularyBlock, end = begin + kVocabularyBlock < v ? begin + kVocabularyBlock : v;
  const float* row = logits + blockIdx.y * v;
  float top = -FLT_MAX, sum = 0.0F, weighted = 0.0F;
  for (std::int64_t j = begin + threadIdx.x; j < end; j += kBlock) top = fmaxf(top, row[j] * scale);
  top = block_fold(top, of_warps[0], Largest{});
  for (std::int64_t j = begin + threadIdx.x; j < end; j += kBlock) {
    const float x = floored(row[j] * scale - top), e = expf(x);
    sum += e;
    weighted = fmaf(e, x, weighted);
  }
  sum = block_fold(sum, of_warps[1], Total{});
  weighted = block_fold(weighted, of_warps[2], Total{});
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = {top, sum, weighted};
}

__device__ Sums joined(Sums a, Sums b) {
  const float top = fmaxf(a.largest, b.largest), a_low = floored(a.largest - top), b_low = floored(b.largest - top);
  const float a_share = expf(a_low), b_share = expf(b_low);
  return {top, fmaf(a_share, a.sum, b_share * b.sum), fmaf(a_share, fmaf(a_low, a.sum, a.weighted), b_share * fmaf(b_low, b.sum, b.weighted))};
}

struct Columns {
  float *logprob, *entropy, *lse;
  BlockMass* blocks;
};

__global__ void join_each(std::int64_t n, const Sums* sums, std::int64_t parts, const float* logits, std::int64_t v, float scale, const std::int32_t* target,
                          Columns to) {
  const std::int64_t i = element();
  if (i >= n) return;
  const Sums* of_row = sums + i * parts;
  BlockMass* blocks = to.blocks + i * (parts + 1);
  Sums all = of_row[0];
  for (std::int64_t b = 1; b < parts; ++b) all = joined(all, of_row[b]);
  for (std::int64_t b = 0; b < parts; ++b) blocks[b] = {of_row[b].largest, of_row[b].sum};
  const float log_sum = logf(all.sum);
  blocks[parts] = {all.largest, log_sum};
  to.lse[i] = all.largest + log_sum;
  to.entropy[i] = log_sum - all.weighted / all.sum;
  to.logprob[i] = target[i] < 0 ? 0.0F : logits[i * v + target[i]] * scale - all.largest - log_sum;
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

/// Of the warp's values in lane order: the first lane at which the running sum from `before` on passes `goal` (32: none), and the sum behind all lanes.
__device__ int first_beyond(float value, float goal, float* before) {
  float sum = *before;
  int found = kWarp;
  for (int lane = 0; lane < kWarp; ++lane) {
    sum += __shfl_sync(0xFFFFFFFFU, value, lane);
    if (found == kWarp && sum > goal) found = lane;
  }
  *before = sum;
  return found;
}

/// A warp a row. Where rounding leaves the goal unreached, the last token with a weight is drawn.
__global__ void sample_row(const float* logits, std::int64_t v, float scale, const BlockMass* blocks, const float* u, std::int32_t* token) {
  const std::int64_t parts = (v + kVocabularyBlock - 1) / kVocabularyBlock, row = blockIdx.x;
  const BlockMass* mass = blocks + row * (parts + 1);
  const float largest = mass[parts].largest, all = expf(mass[parts].sum);
  const auto drawn = [&](std::int64_t begin, std::int64_t end, float goal, float* before, const auto& weight) {
    std::int64_t last = begin;
    for (std::int64_t first = begin; first < end; first += kWarp) {
      const std::int64_t own = first + threadIdx.x;
      const float w = own < end ? weight(own) : 0.0F, start = *before;
      const unsigned some = __ballot_sync(0xFFFFFFFFU, w > 0.0F);
      float sum = start;
      const int lane = first_beyond(w, goal, &sum);
      if (lane < kWarp) {
        float upto = start;  // the sum before the one that is drawn
        for (int l = 0; l < lane; ++l) upto += __shfl_sync(0xFFFFFFFFU, w, l);
        *before = upto;
        return first + lane;
      }
      if (some != 0) last = first + 31 - __clz(static_cast<int>(some));
      *before = sum;
    }
    return last;
  };
  float before = 0.0F;
  const float goal = u[row] * all;
  const std::int64_t block = drawn(0, parts, goal, &before, [&](std::int64_t b) { return mass[b].sum * expf(mass[b].largest - largest); });
  const std::int64_t begin = block * kVocabularyBlock, end = begin + kVocabularyBlock < v ? begin + kVocabularyBlock : v;
  const float inside = (goal - before) / expf(mass[block].largest - largest), top = mass[block].largest;
  float start = 0.0F;
  const std::int64_t chosen = drawn(begin, end, inside, &start, [&](std::int64_t j) { return expf(logits[row * v + j] * scale - top); });
  if (threadIdx.x == 0) token[row] = static_cast<std::int32_t>(chosen);
}

}  // namespace

void token_columns(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                   float* logprob, float* entropy, float* lse, BlockMass* blocks) {
  constexpr std::int64_t kRows = 32768;  // a grid has at most 65,535 in y
  const std::int64_t parts = vocabulary_blocks(v);
  for (std::int64_t first = 0; first < n; first += kRows) {
    const std::int64_t rows = n - first < kRows ? n - first : kRows;
    const Scratch<Sums> sums(context, rows * parts);
    const float* from = logits + first * v;
    launch(context, "block_sums", block_sums, {dim3(static_cast<unsigned>(parts), static_cast<unsigned>(rows)), kBlock}, from, v, inverse_temperature,
           sums.get());
    launch_each(context, "token_columns", join_each, rows, sums.get(), parts, from, v, inverse_temperature, target + first,
                Columns{logprob + first, entropy + first, lse + first, blocks + first * (parts + 1)});
  }
}

void token_columns_backward(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature,
                            const std::int32_t* target, const float* lse, const float* entropy, const float* dlogprob, const float* dentropy, float* dlogits) {
  const ColumnGradients a{lse, entropy, dlogprob, dentropy};
  launch_each(context, "token_columns_backward", token_columns_backward_each, n * v, logits, v, inverse_temperature, target, a, dlogits);
}

void sample(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const BlockMass* blocks, const float* u,
            std::int32_t* token) {
  launch_rows(context, "sample", sample_row, n, 0, logits, v, inverse_temperature, blocks, u, token);
}

}  // namespace rollcall::kernels::cuda
