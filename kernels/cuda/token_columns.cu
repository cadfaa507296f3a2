// Token columns, their backward pass, and sampling. One block of threads sums a block of the
// vocabulary, and the blocks of a row are joined in one fixed order. The formulas are those of
// token_columns.simd.hpp.
#include "kernels/cuda/device.cuh"

#include <cfloat>

namespace rollcall::kernels::cuda {
namespace {

constexpr float kLogFloor = -104.0F;  // exp is 0 in fp32 from here down; avoids 0 * -inf

/// x, but not below the floor. A NaN stays a NaN.
__device__ float floored(float x) { return x < kLogFloor ? kLogFloor : x; }

/// The state of some tokens of a row: with x = z - largest, the sums of exp x and of x exp x.
struct Sums {
  float largest, sum, weighted;
};

/// A block computes (vocabulary block, row).
__global__ void __launch_bounds__(kBlock)
    block_sums(const float* logits, std::int64_t v, float scale, Sums* sums) {
  __shared__ float of_warps[3][kBlock / kWarp];
  const std::int64_t begin = blockIdx.x * kVocabularyBlock,
                     end = begin + kVocabularyBlock < v ? begin + kVocabularyBlock : v;
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
  const float top = fmaxf(a.largest, b.largest), a_low = floored(a.largest - top),
              b_low = floored(b.largest - top);
  const float a_share = expf(a_low), b_share = expf(b_low);
  return {top, fmaf(a_share, a.sum, b_share * b.sum),
          fmaf(a_share, fmaf(a_low, a.sum, a.weighted), b_share * fmaf(b_low, b.sum, b.weighted))};
}

struct Columns {
  float *logprob, *entropy, *lse;
  BlockMass* blocks;
};

/// A warp joins the blocks of a row. Each lane joins every 32nd block, then lanes at growing
/// distances join theirs.
__global__ void join_row(const Sums* sums, std::int64_t parts, const float* logits, std::int64_t v,
                         float scale, const std::int32_t* target, Columns to) {
  const std::int64_t i = blockIdx.x;
  const Sums* of_row = sums + i * parts;
  BlockMass* blocks = to.blocks + i * (parts + 1);
  Sums all{-FLT_MAX, 0.0F, 0.0F};  // the state of a lane without blocks
  for (std::int64_t b = threadIdx.x; b < parts; b += kWarp) {
    blocks[b] = {of_row[b].largest, of_row[b].sum};
    all = b < kWarp ? of_row[b] : joined(all, of_row[b]);
  }
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const Sums next{__shfl_down_sync(0xFFFFFFFFU, all.largest, distance),
                    __shfl_down_sync(0xFFFFFFFFU, all.sum, distance),
                    __shfl_down_sync(0xFFFFFFFFU, all.weighted, distance)};
    all = joined(all, next);
  }
  if (threadIdx.x != 0) return;
  const float log_sum = logf(all.sum);
  blocks[parts] = {all.largest, log_sum};
  to.lse[i] = all.largest + log_sum;
  to.entropy[i] = log_sum - all.weighted / all.sum;
  to.logprob[i] = target[i] < 0 ? 0.0F : logits[i * v + target[i]] * scale - all.largest - log_sum;
}

/// For each row: lse, entropy, and the derivatives of the loss with respect to log-prob and
/// entropy.
struct ColumnGradients {
  const float *lse, *entropy, *dlogprob, *dentropy;
};

__global__ void token_columns_backward_each(std::int64_t count, const float* logits, std::int64_t v,
                                            float scale, const std::int32_t* target,
                                            ColumnGradients a, float* dlogits) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t i = at / v, j = at % v;
  const float through_logprob = a.dlogprob[i];
  const float log_p = floored(logits[at] * scale - a.lse[i]), p = expf(log_p);
  const float spread = p * fmaf(a.dentropy[i], log_p + a.entropy[i], through_logprob);
  dlogits[at] = scale * ((j == target[i] ? through_logprob : 0.0F) - spread);
}

/// The first lane at which the running sum of the warp's values, which begins at `before`, passes
/// `goal`, or 32 if it does not. `before` becomes the sum over all lanes.
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

struct PendingSample {
  const float* logits;
  std::int64_t v, drawn;  ///< ids below `drawn` may be drawn
  float scale;
  const BlockMass* blocks;
  std::int32_t* token;
  float* logprob;
  __device__ std::int64_t parts() const { return (v + kVocabularyBlock - 1) / kVocabularyBlock; }
  __device__ const BlockMass* masses(std::int64_t row) const {
    return blocks + row * (parts() + 1);
  }
  // The order of operations is that of token_columns, and so the bits are the same.
  __device__ void write(std::int64_t row, std::int64_t chosen) const {
    const BlockMass& whole = masses(row)[parts()];
    token[row] = static_cast<std::int32_t>(chosen);
    if (logprob != nullptr)
      logprob[row] = logits[row * v + chosen] * scale - whole.largest - whole.sum;
  }
};

/// A warp finds the most probable token of a row, and in a tie the one with the lowest id.
__global__ void most_probable_row(PendingSample a) {
  const std::int64_t row = blockIdx.x;
  float top = -FLT_MAX;
  int best = 0;
  for (std::int64_t j = threadIdx.x; j < a.drawn; j += kWarp)
    if (a.logits[row * a.v + j] > top) top = a.logits[row * a.v + j], best = static_cast<int>(j);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFU, top, distance);
    const int place = __shfl_xor_sync(0xFFFFFFFFU, best, distance);
    if (other > top || (other == top && place < best)) top = other, best = place;
  }
  if (threadIdx.x == 0) a.write(row, best);
}

/// A warp samples from a row. If rounding leaves the goal unreached, it takes the last token with a
/// weight.
__global__ void sample_row(PendingSample a, const float* u) {
  const std::int64_t row = blockIdx.x, parts = (a.drawn + kVocabularyBlock - 1) / kVocabularyBlock,
                     v = a.v;
  const float *logits = a.logits, scale = a.scale;
  const BlockMass *mass = a.masses(row), whole = mass[a.parts()];
  const float largest = whole.largest;
  float last_sum = mass[parts - 1].sum;
  if (a.drawn < v) {  // the last block also has other ids
    float own = 0.0F;
    for (std::int64_t j = (parts - 1) * kVocabularyBlock + threadIdx.x; j < a.drawn; j += kWarp)
      own += expf(logits[row * v + j] * scale - mass[parts - 1].largest);
    last_sum = warp_sum(own);
  }
  const auto share = [&](std::int64_t b) {
    return (b + 1 == parts ? last_sum : mass[b].sum) * expf(mass[b].largest - largest);
  };
  float all = 0.0F;
  for (std::int64_t b = 0; b < parts; ++b) all += share(b);
  const auto drawn = [&](std::int64_t begin, std::int64_t end, float goal, float* before,
                         const auto& weight) {
    std::int64_t last = begin;
    for (std::int64_t first = begin; first < end; first += kWarp) {
      const std::int64_t own = first + threadIdx.x;
      const float w = own < end ? weight(own) : 0.0F, start = *before;
      const unsigned some = __ballot_sync(0xFFFFFFFFU, w > 0.0F);
      float sum = start;
      const int lane = first_beyond(w, goal, &sum);
      if (lane < kWarp) {
        float upto = start;  // the sum before the sampled token
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
  const std::int64_t block = drawn(0, parts, goal, &before, share);
  const std::int64_t begin = block * kVocabularyBlock,
                     end = begin + kVocabularyBlock < a.drawn ? begin + kVocabularyBlock : a.drawn;
  const float inside = (goal - before) / expf(mass[block].largest - largest),
              top = mass[block].largest;
  float start = 0.0F;
  const std::int64_t chosen = drawn(begin, end, inside, &start, [&](std::int64_t j) {
    return expf(logits[row * v + j] * scale - top);
  });
  if (threadIdx.x == 0) a.write(row, chosen);
}

/// The most probable tokens of a row: those that weigh more than `from`, and the first `equals`
/// ones that weigh exactly that.
struct Kept {
  unsigned from;  ///< bits of a weight; they sort like the weights
  float equals, mass;
};

/// The weights exp(z - largest) of a row. Each thread has every kBlock-th of them. Folds alternate
/// between two places in shared memory, so that one barrier per fold is enough.
struct RowWeights {
  const float* logits;
  std::int64_t ids;
  float scale, largest;
  float (*of_warps)[kBlock / kWarp];
  int turn = 0;
  __device__ float of(std::int64_t j) const { return expf(logits[j] * scale - largest); }
  /// With `number` the count, otherwise the mass, of the weights that are `least` or more.
  __device__ float from(unsigned least, bool number) {
    float sum = 0.0F;
    for (std::int64_t j = threadIdx.x; j < ids; j += kBlock)
      if (const float w = of(j); __float_as_uint(w) >= least) sum += number ? 1.0F : w;
    return block_fold(sum, of_warps[turn++ % 2], Total{});
  }
  /// The fewest tokens whose number or mass is `wanted` or more. The threshold is found by
  /// bisection on its bits, in the same 30 passes for every row.
  __device__ Kept keep(bool number, float wanted) {
    // The tokens from `low` on are enough, those from `high` on are not. No weight is above 1.
    unsigned low = 0, high = 0x3F800001U;
    while (high - low > 1) {
      const unsigned middle = low + (high - low) / 2;
      (from(middle, number) >= wanted ? low : high) = middle;
    }
    const float above = from(low + 1, number), each = number ? 1.0F : __uint_as_float(low),
                all = from(low, true) - from(low + 1, true);
    const float equals = each > 0.0F ? fminf(ceilf((wanted - above) / each), all) : all;
    return {low, equals, from(low + 1, false) + equals * __uint_as_float(low)};
  }
};

/// A block samples from a row. Each thread has a range of neighbouring ids.
__global__ void __launch_bounds__(kBlock)
    truncated_row(PendingSample a, std::int64_t top_k, float top_p, const float* u) {
  __shared__ float of_warps[2][kBlock / kWarp], equals[kBlock], masses[kBlock];
  const std::int64_t row = blockIdx.x, stretch = (a.drawn + kBlock - 1) / kBlock,
                     begin = threadIdx.x * stretch;
  const std::int64_t end = begin + stretch < a.drawn ? begin + stretch : a.drawn;
  RowWeights weights{a.logits + row * a.v, a.drawn, a.scale, a.masses(row)[a.parts()].largest,
                     of_warps};
  Kept kept{0, static_cast<float>(a.drawn), weights.from(0, false)};
  if (top_k > 0 && top_k < a.drawn) kept = weights.keep(true, static_cast<float>(top_k));
  if (top_p < 1.0F) {
    const Kept nucleus = weights.keep(false, top_p * kept.mass);
    kept = {nucleus.from,
            nucleus.from == kept.from ? fminf(nucleus.equals, kept.equals) : nucleus.equals,
            nucleus.mass};
  }
  float own = 0.0F, before = 0.0F;
  for (std::int64_t j = begin; j < end; ++j)
    own += __float_as_uint(weights.of(j)) == kept.from ? 1.0F : 0.0F;
  equals[threadIdx.x] = own;
  __syncthreads();
#pragma unroll 1
  for (unsigned t = 0; t < threadIdx.x; ++t) before += equals[t];
  /// Calls visit(id, weight) for the kept ids of this thread.
  const auto each = [&](const auto& visit) {
    float equal = before;
    for (std::int64_t j = begin; j < end; ++j) {
      const float w = weights.of(j);
      const unsigned bits = __float_as_uint(w);
      if (bits > kept.from || (bits == kept.from && equal < kept.equals)) visit(j, w);
      if (bits == kept.from) equal += 1.0F;
    }
  };
  float mass = 0.0F, all = 0.0F;
  each([&](std::int64_t, float w) { mass += w; });
  masses[threadIdx.x] = mass;
  __syncthreads();
#pragma unroll 1  // unrolled, it would not fit into registers
  for (int t = 0; t < kBlock; ++t) all += masses[t];
  const float goal = u[row] * all;
  int owner = -1, last = 0;  // the thread in whose range the goal is passed, and the last one with
                             // a weight, in case rounding leaves the goal unreached
  float sum = 0.0F, start = 0.0F;
#pragma unroll 1
  for (int t = 0; t < kBlock && owner < 0; ++t) {
    if (masses[t] > 0.0F) last = t, start = sum;
    sum += masses[t];
    if (sum > goal) owner = t;
  }
  if (static_cast<int>(threadIdx.x) != (owner < 0 ? last : owner)) return;
  std::int64_t chosen = begin < a.drawn ? begin : 0;
  bool found = false;
  each([&](std::int64_t j, float w) {
    if (found || !(w > 0.0F)) return;
    chosen = j, start += w, found = start > goal;
  });
  a.write(row, chosen);
}

/// A block computes a row.
__global__ void __launch_bounds__(kBlock)
    wide_columns_row(const float* logits, const float* other, std::int64_t v, float scale,
                     const float* lse, const float* other_lse, float* squares, float* kl) {
  __shared__ float of_warps[2][kBlock / kWarp];
  const std::int64_t row = blockIdx.x;
  float square = 0.0F, divergence = 0.0F;
  for (std::int64_t j = threadIdx.x; j < v; j += kBlock) {
    const float log_p = floored(logits[row * v + j] * scale - lse[row]), p = expf(log_p);
    square = fmaf(p, p, square);
    if (other == nullptr) continue;
    const float log_q = other[row * v + j] * scale - other_lse[row];
    divergence = fmaf(p, log_p - (log_q < -FLT_MAX ? -FLT_MAX : log_q), divergence);
  }
  square = block_fold(square, of_warps[0], Total{});
  divergence = block_fold(divergence, of_warps[1], Total{});
  if (threadIdx.x != 0) return;
  squares[row] = square;
  if (other != nullptr) kl[row] = divergence < 0.0F ? 0.0F : divergence;
}

}  // namespace

void token_columns(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v,
                   float inverse_temperature, const std::int32_t* target, float* logprob,
                   float* entropy, float* lse, BlockMass* blocks, float* sums) {
  static_assert(sizeof(Sums) == column_floats(1, 1) * sizeof(float));
  constexpr std::int64_t kRows = 32768;  // a grid has at most 65,535 blocks in y
  const std::int64_t parts = vocabulary_blocks(v);
  const Scratch<float> own(context, sums == nullptr ? column_floats(n < kRows ? n : kRows, v) : 0);
  auto* const of_blocks = reinterpret_cast<Sums*>(sums == nullptr ? own.get() : sums);
  for (std::int64_t first = 0; first < n; first += kRows) {
    const std::int64_t rows = n - first < kRows ? n - first : kRows;
    const float* from = logits + first * v;
    launch(context, "block_sums", block_sums,
           {dim3(static_cast<unsigned>(parts), static_cast<unsigned>(rows)), kBlock}, from, v,
           inverse_temperature, of_blocks);
    launch_rows(
        context, "token_columns", join_row, rows, kWarp, of_blocks, parts, from, v,
        inverse_temperature, target + first,
        Columns{logprob + first, entropy + first, lse + first, blocks + first * (parts + 1)});
  }
}

void token_columns_backward(ExecutionContext& context, const float* logits, std::int64_t n,
                            std::int64_t v, float inverse_temperature, const std::int32_t* target,
                            const float* lse, const float* entropy, const float* dlogprob,
                            const float* dentropy, float* dlogits) {
  const ColumnGradients a{lse, entropy, dlogprob, dentropy};
  launch_each(context, "token_columns_backward", token_columns_backward_each, n * v, logits, v,
              inverse_temperature, target, a, dlogits);
}

void sample(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v,
            const DrawRules& rules, const BlockMass* blocks, const float* u, std::int32_t* token,
            float* logprob) {
  const PendingSample a{logits, v, rules.ids, rules.inverse_temperature, blocks, token, logprob};
  const bool truncated = (rules.top_k > 0 && rules.top_k < rules.ids) || rules.top_p < 1.0F;
  if (n == 0) return;
  if (u == nullptr) return launch_rows(context, "most_probable", most_probable_row, n, kWarp, a);
  if (!truncated) return launch_rows(context, "sample", sample_row, n, kWarp, a, u);
  launch(context, "sample", truncated_row, {static_cast<unsigned>(n), kBlock}, a, rules.top_k,
         rules.top_p, u);
}

void wide_columns(ExecutionContext& context, const float* logits, const float* other,
                  std::int64_t n, std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl) {
  if (n > 0)
    launch(context, "wide_columns", wide_columns_row, {static_cast<unsigned>(n), kBlock}, logits,
           other, v, inverse_temperature, lse, other_lse, squares, kl);
}

}  // namespace rollcall::kernels::cuda
