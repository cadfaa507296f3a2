// The kernels of the model's forward and backward passes and of what goes over all parameters, as
// one table per implementation.
//
// Contract of every entry
// - Row-major fp32, contiguous; `n` rows (tokens) may be any number: the bits of a row depend on
//   that row's inputs alone, never on n, on the
//   other rows, or on the thread. That is batch invariance, and it is why generation and training
//   agree bit for bit.
// - Each output sums its products in one fixed order (in fp32_fixed_order FMA, k ascending within a
//   lane; 16 lanes folded by a fixed binary tree where a
//   reduction runs along the row; bf16_linear.simd.hpp says it of bf16_sliced8), so that the sets
//   of one numerics are bit-identical to one another; `select` may choose any by measurement.
// - `reference` is plain double-precision loops: the truth within a stated tolerance, not
//   bit-identical.
// - No allocation: scratch comes from the Workspace of the ExecutionContext. One thread per call;
//   callers run many calls side by side.
#pragma once

#include "kernels/execution_context.hpp"

#include <cstdint>
#include <string_view>

namespace rollcall::kernels {

/// Positions of a page of keys and values. Page p of a sequence holds its positions [64 p, 64 p +
/// 64).
inline constexpr std::int64_t kPageKeys = 64;
constexpr std::int64_t pages_of(std::int64_t keys) { return (keys + kPageKeys - 1) / kPageKeys; }

/// Keys and values a query row may see: the first `keys` positions of a sequence, in pages_of(keys)
/// pages of one layer. In training and in generation the same call, the same bits.
struct AttentionRow {
  const void* const* pages;
  std::int64_t keys;
  /// So many first positions hold what those of the row before hold, in the same pages or in
  /// others: they may be read once for both. Rows of one table need not say it.
  std::int64_t alike = 0;
};

/// Where in each page the layer begins, in bytes, and which key heads [first, last) are wanted.
struct AttentionPart {
  std::int64_t offset, first, last;
};

/// Heads of grouped-query attention: query head h reads key head h / (q_heads / kv_heads).
struct HeadShape {
  std::int64_t q_heads, kv_heads, head_dim;
};

/// Tokens of a block of the vocabulary. Exponentials are summed by block, so that logits are read
/// from memory once and a draw finds its block first.
inline constexpr std::int64_t kVocabularyBlock = 1024;
constexpr std::int64_t vocabulary_blocks(std::int64_t v) {
  return (v + kVocabularyBlock - 1) / kVocabularyBlock;
}

/// One of the products of a row that `linear` makes together: y[n,o] = x W[o,k]^T (+ bias[o] unless
/// that is nullptr; it is added last). `packed` is W through `pack`.
struct Product {
  const void* packed;
  std::int64_t o;
  const float* bias;
  float* y;
};

/// Outputs in a panel of a packed matrix: the 16 lanes of a vector.
inline constexpr std::int64_t kPanel = 16;
constexpr std::int64_t panels_of(std::int64_t o) { return (o + kPanel - 1) / kPanel; }

/// Of a block of a row's scaled logits z: the largest, and sum exp(z - largest). Behind the blocks
/// of a row stands one more, of the row: its largest z and ln sum exp(z - largest).
struct BlockMass {
  float largest, sum;
};

struct AdamWStep;  ///< parameter_kernels.hpp

inline constexpr int kThresholds = 4;  ///< that sums_from takes: together they cost little more
                                       ///< than one

/// One implementation. All pointers are non-null but for device_host_kernels().
struct KernelSet {
  const char* name;
  const char* numerics;  ///< what fixes the bits: sets of one numerics are bit-identical to one
                         ///< another

  /// Bytes that `pack` writes for W[o,k]: panels of 16 outputs, padded with zeros. Memory aligned
  /// to 64 bytes is read fastest.
  std::int64_t (*packed_bytes)(std::int64_t o, std::int64_t k);
  void (*pack)(const float* w, std::int64_t o, std::int64_t k, void* packed);
  /// of bf16
  void (*pack_halves)(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed);
  /// What `pack` makes of the transpose of w[k,o], of its panels [begin, end), each written to its
  /// place. With it and `transpose` the products of the backward pass are `linear` too: dx =
  /// linear(dy, W^T), dW = linear(dy^T, x^T).
  void (*pack_transposed)(const float* w, std::int64_t k, std::int64_t o, std::int64_t begin,
                          std::int64_t end, void* packed);
  /// y[count,n] = the transpose of the first `count` columns of x, whose n rows lie `stride` floats
  /// apart.
  void (*transpose)(const float* x, std::int64_t n, std::int64_t stride, std::int64_t count,
                    float* y);
  /// Products of the same x[n,k]: their panels [begin, end), numbered from the first product's
  /// first to the last one's last, so that threads share a call by its panels. `slices` (1, 2, 4 or
  /// 8): parts of k that bf16_sliced8 sums apart; fp32_fixed_order takes no notice of it.
  void (*linear)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k,
                 const Product* products, int count, int slices, std::int64_t begin,
                 std::int64_t end);
  /// y = x / sqrt(mean(x^2) + eps) * weight, per row of d.
  void (*rms_norm)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                   const float* weight, float eps, float* y);
  /// dx[n,d] written; dweight[d] accumulated over rows in ascending order.
  void (*rms_norm_backward)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                            const float* weight, float eps, const float* dy, float* dx,
                            float* dweight);
  /// In place on x[n,heads,head_dim], rotate-half convention of the Llama family: pairs (i, i +
  /// head_dim/2) turned by the angle whose cosine and sine stand in cos/sin[position, head_dim/2].
  /// direction +1 forward, -1 backward (the inverse turn).
  void (*rope)(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads,
               std::int64_t head_dim, const std::int32_t* position, const float* cos,
               const float* sin, int direction);
  /// Bytes of a page of one layer, and what puts one position's k and v [kv_heads, head_dim] into
  /// its place `slot` < kPageKeys. Places are filled from 0 upwards; a page needs no preparation.
  std::int64_t (*page_bytes)(HeadShape shape);
  void (*store_position)(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page);
  /// The first `count` places of a page into another.
  void (*copy_positions)(const void* from, HeadShape shape, std::int64_t count, void* to);
  /// out[n,q_heads,head_dim] = softmax(q k^T / sqrt(head_dim)) v over rows[i].keys keys: online
  /// over pages ascending (Milakov and Gimelshein 2018), pages of 1,024 keys folded in order.
  /// `part` of it: query heads that read other key heads are left alone.
  void (*attention)(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
                    HeadShape shape, AttentionPart part, float* out);
  /// One causal sequence of `keys` tokens, k and v [keys,kv_heads,head_dim], of which the last
  /// `queries` are asked for: q and dout [queries,q_heads,head_dim]. Recomputes the probabilities.
  /// dq [queries,..], dk and dv [keys,..] are written, of the key heads [begin, end) and the query
  /// heads that read them.
  void (*attention_backward)(ExecutionContext&, const float* q, const float* k, const float* v,
                             const float* dout, std::int64_t queries, std::int64_t keys,
                             HeadShape shape, std::int64_t begin, std::int64_t end, float* dq,
                             float* dk, float* dv);
  /// y[n,f] = silu(gate) * up with gate, up [n,f].
  void (*swiglu)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                 std::int64_t f, float* y);
  void (*swiglu_backward)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                          std::int64_t f, const float* dy, float* dgate, float* dup);
  /// Token columns of logits [n,v] at 1/temperature: logprob[i] of target[i] and entropy[i] of the
  /// row's softmax, in nats; also the row's
  /// log-sum-exp lse[i] of the scaled logits. A target of -1 leaves logprob[i] = 0. `blocks` (or
  /// nullptr) [n, vocabulary_blocks(v) + 1] is what draws need: the log-prob of a token z is then z
  /// - largest - sum of the row's last entry, the same bits as here. `e` (or nullptr) [n,v]: exp(z
  /// - largest of its block).
  void (*token_columns)(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                        float inverse_temperature, const std::int32_t* target, float* logprob,
                        float* entropy, float* lse, BlockMass* blocks, float* e);
  /// dlogits[n,v] (may alias logits) = inverse_temperature * (dlogprob (onehot - p) + dentropy *
  /// dH/dz), p from lse. The v tokens may be a part of the
  /// vocabulary: a target outside [0, v) stands in another part.
  void (*token_columns_backward)(ExecutionContext&, const float* logits, std::int64_t n,
                                 std::int64_t v, float inverse_temperature,
                                 const std::int32_t* target, const float* lse, const float* entropy,
                                 const float* dlogprob, const float* dentropy, float* dlogits);
  /// Of each row's p = softmax(logits inverse_temperature): squares[i] = sum p^2, and kl[i] = sum p
  /// (ln p - ln q) with q of `other` [n,v] likewise, unless that is nullptr. lse and other_lse [n]
  /// from token_columns.
  void (*wide_columns)(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                       std::int64_t v, float inverse_temperature, const float* lse,
                       const float* other_lse, float* squares, float* kl);

  // One draw from one row.
  /// e[v] = exp(logits inverse_temperature - largest), where no scaled logit is larger.
  void (*exponentials)(ExecutionContext&, const float* logits, std::int64_t v,
                       float inverse_temperature, float largest, float* e);
  // Weights w[v] of a row in its blocks' scale: w = e times factor [vocabulary_blocks(v)] of the
  // block.
  /// For each of kThresholds: the sum of the w that are so much or more, or their number. Blocks in
  /// fp32, over blocks in double.
  void (*sums_from)(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
                    const float* least, bool number, double* sum);
  /// The places of low <= w < high, ascending, for all of which `place` has room; returns their
  /// number. sum [vocabulary_blocks(v)]: of the w >= high, by block.
  std::int64_t (*places_between)(ExecutionContext&, const float* e, const float* factor,
                                 std::int64_t v, float low, float high, float* sum,
                                 std::int32_t* place);

  // Over all parameters; parameter_kernels.hpp says what they compute.
  float (*accumulate_fixed_point)(const float* values, std::int64_t count, double scale,
                                  std::int64_t* sum);
  void (*from_fixed_point)(const std::int64_t* sum, std::int64_t count, double scale,
                           float* values);
  double (*sum_of_squares)(const float* values, std::int64_t count);
  /// Corrections: 1 - beta^step of each moment.
  void (*adamw)(float* weight, const float* gradient, float* m, float* v, std::int64_t count,
                const AdamWStep& step, double first_correction, double second_correction);
};

/// The numerics there are: what fixes the bits of a run. Sets of one numerics are bit-identical;
/// "fp64_loops" is the reference's.
inline constexpr const char *kFp32FixedOrder = "fp32_fixed_order", *kBf16Sliced8 = "bf16_sliced8",
                            *kCudaBf16Sliced8 = "cuda_bf16_sliced8";

/// Of kCudaBf16Sliced8: what the host does for a device. Packed matrices and pages are those of
/// cuda/device_kernels.hpp; all that the device computes (cuda::) is null here; what is left, the
/// integer sums, has the host's bits.
const KernelSet& device_host_kernels();

const KernelSet& reference_kernels();
const KernelSet& scalar_kernels();
/// The one of these numerics that every machine has. Throws std::invalid_argument.
const KernelSet& plain_kernels(std::string_view numerics);
/// The set of these numerics that ROLLCALL_KERNELS names, else the fastest that this processor
/// runs, measured once per process on a small linear + attention probe. Throws std::runtime_error
/// where it names none of them ("reference" it always may), std::invalid_argument where there are
/// no such numerics.
const KernelSet& selected_kernels(std::string_view numerics = kFp32FixedOrder);
/// By name ("reference", "scalar", "avx2", "avx512"; of bf16_sliced8 also "avx512_bf16" and "amx");
/// nullptr when unknown or not runnable on this processor.
const KernelSet* kernels_by_name(std::string_view name,
                                 std::string_view numerics = kFp32FixedOrder);

}  // namespace rollcall::kernels
