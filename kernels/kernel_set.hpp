// The kernels of the model's forward and backward passes and of the passes over all parameters, as
// one table per implementation.
//
// Contract of every entry
// - Arrays are row-major fp32 and contiguous. `n` rows (tokens) may be any number. The bits of a
//   row depend on that row's inputs only, never on n, on other rows or on the thread. This is batch
//   invariance, and the reason why generation and training agree bit for bit.
// - Each output sums its products in one fixed order, so that all sets of one numerics have the
//   same bits and the fastest may be chosen by measurement. In fp32_fixed_order these are FMAs with
//   k ascending within a lane, and 16 lanes folded by a fixed binary tree if a reduction runs
//   along the row. bf16_linear.simd.hpp gives the order of bf16_sliced8.
// - `reference` consists of plain loops in double precision. It is the truth within a stated
//   tolerance, not bit for bit.
// - No kernel allocates: scratch memory comes from the Workspace of the ExecutionContext. A call
//   uses one thread, and callers make many calls in parallel.
#pragma once

#include "kernels/execution_context.hpp"

#include <cstdint>
#include <string_view>

namespace rollcall::kernels {

/// Positions in a page of keys and values. Page p of a sequence holds its positions [64 p, 64 p +
/// 64).
inline constexpr std::int64_t kPageKeys = 64;
constexpr std::int64_t pages_of(std::int64_t keys) { return (keys + kPageKeys - 1) / kPageKeys; }

/// The keys and values that a query row attends to: the first `keys` positions of a sequence, in
/// pages_of(keys) pages. Training and generation make the same call and get the same bits.
struct AttentionRow {
  const void* const* pages;
  std::int64_t keys;
  /// The number of leading positions that hold the same keys and values as in the row before, in
  /// the same pages or in copies. They may be read once for both rows. It may stay 0 for rows with
  /// the same `pages`.
  std::int64_t alike = 0;
};

/// The offset in bytes at which the layer begins in each page, and the wanted key heads [first,
/// last).
struct AttentionPart {
  std::int64_t offset, first, last;
};

/// The heads of grouped-query attention. Query head h reads key head h / (q_heads / kv_heads).
struct HeadShape {
  std::int64_t q_heads, kv_heads, head_dim;
};

/// Tokens in a block of the vocabulary. Exponentials are summed by block, so that logits are read
/// from memory once and a sampler can choose the block first.
inline constexpr std::int64_t kVocabularyBlock = 1024;
constexpr std::int64_t vocabulary_blocks(std::int64_t v) {
  return (v + kVocabularyBlock - 1) / kVocabularyBlock;
}

/// One of several products that `linear` computes from the same rows: y[n,o] = x W[o,k]^T +
/// bias[o]. The bias is added last, or not at all if it is nullptr. `packed` is W as `pack` writes
/// it.
struct Product {
  const void* packed;
  std::int64_t o;
  const float* bias;
  float* y;
};

/// Outputs in a panel of a packed matrix, one for each of the 16 lanes of a vector.
inline constexpr std::int64_t kPanel = 16;
constexpr std::int64_t panels_of(std::int64_t o) { return (o + kPanel - 1) / kPanel; }

/// For a block of a row's scaled logits z: the largest z, and sum exp(z - largest). After the
/// blocks of a row comes one more entry for the whole row, with its largest z and ln sum exp(z -
/// largest).
struct BlockMass {
  float largest, sum;
};

struct AdamWStep;  ///< defined in parameter_kernels.hpp

/// Thresholds in a call of sums_from. Four together cost little more than one.
inline constexpr int kThresholds = 4;

/// One implementation of all kernels. No pointer is null, except in device_host_kernels().
struct KernelSet {
  const char* name;
  const char* numerics;  ///< what fixes the bits: sets with the same numerics have the same bits

  /// Bytes that `pack` writes for W[o,k], in panels of 16 outputs that are padded with zeros.
  /// Memory that is aligned to 64 bytes is read fastest.
  std::int64_t (*packed_bytes)(std::int64_t o, std::int64_t k);
  void (*pack)(const float* w, std::int64_t o, std::int64_t k, void* packed);
  /// Packs W[o,k] as `pack` does, from weights in bf16.
  void (*pack_halves)(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed);
  /// Packs the transpose of w[k,o]: writes its panels [begin, end), each to its place. With it and
  /// `transpose` the products of the backward pass are `linear` too: dx = linear(dy, W^T), dW =
  /// linear(dy^T, x^T).
  void (*pack_transposed)(const float* w, std::int64_t k, std::int64_t o, std::int64_t begin,
                          std::int64_t end, void* packed);
  /// y[count,n] = the transpose of the first `count` columns of x, whose n rows are `stride` floats
  /// apart.
  void (*transpose)(const float* x, std::int64_t n, std::int64_t stride, std::int64_t count,
                    float* y);
  /// Several products of the same x[n,k]. Computes the panels [begin, end), counted through all
  /// products, so that threads can share a call by panels. `slices` (1, 2, 4 or 8) is the number of
  /// parts of k that bf16_sliced8 sums separately. fp32_fixed_order ignores it.
  void (*linear)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k,
                 const Product* products, int count, int slices, std::int64_t begin,
                 std::int64_t end);
  /// y = x / sqrt(mean(x^2) + eps) * weight, for each row of d numbers.
  void (*rms_norm)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                   const float* weight, float eps, float* y);
  /// Writes dx[n,d], and adds to dweight[d] over rows in ascending order.
  void (*rms_norm_backward)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                            const float* weight, float eps, const float* dy, float* dx,
                            float* dweight);
  /// Rotates x[n,heads,head_dim] in place, in the rotate-half convention of the Llama family: pairs
  /// (i, i + head_dim/2) are rotated by the angle whose cosine and sine are in cos and sin
  /// [position, head_dim/2]. direction is +1 forward and -1 backward, the inverse rotation.
  void (*rope)(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads,
               std::int64_t head_dim, const std::int32_t* position, const float* cos,
               const float* sin, int direction);
  /// Bytes of a page of one layer. store_position puts the k and v [kv_heads, head_dim] of one
  /// position into its place `slot` < kPageKeys. Places are filled from 0 upwards, and a page needs
  /// no initialisation.
  std::int64_t (*page_bytes)(HeadShape shape);
  void (*store_position)(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page);
  /// Copies the first `count` places of a page into another one.
  void (*copy_positions)(const void* from, HeadShape shape, std::int64_t count, void* to);
  /// out[n,q_heads,head_dim] = softmax(q k^T / sqrt(head_dim)) v over rows[i].keys keys. The
  /// softmax is online over ascending pages (Milakov and Gimelshein 2018), with its state folded in
  /// order after each 1,024 keys. Query heads that do not read the key heads of `part` are not
  /// written.
  void (*attention)(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
                    HeadShape shape, AttentionPart part, float* out);
  /// The backward pass over one causal sequence of `keys` tokens with k and v
  /// [keys,kv_heads,head_dim]. Its last `queries` tokens have q and dout
  /// [queries,q_heads,head_dim]. The probabilities are computed again. Writes dq [queries,..], dk
  /// and dv [keys,..] for the key heads [begin, end) and the query heads that read them.
  void (*attention_backward)(ExecutionContext&, const float* q, const float* k, const float* v,
                             const float* dout, std::int64_t queries, std::int64_t keys,
                             HeadShape shape, std::int64_t begin, std::int64_t end, float* dq,
                             float* dk, float* dv);
  /// y[n,f] = silu(gate) * up with gate, up [n,f].
  void (*swiglu)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                 std::int64_t f, float* y);
  void (*swiglu_backward)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                          std::int64_t f, const float* dy, float* dgate, float* dup);
  /// Token columns of logits [n,v] scaled by 1/temperature: logprob[i] of target[i], entropy[i] of
  /// the row's softmax in nats, and the log-sum-exp lse[i] of the scaled logits. A target of -1
  /// leaves logprob[i] = 0. `blocks` [n, vocabulary_blocks(v) + 1], or nullptr, receives what
  /// sampling needs: the log-prob of a token with scaled logit z is z - largest - sum of the row's
  /// last entry, with the same bits as here. `e` [n,v], or nullptr, receives exp(z - largest of its
  /// block).
  void (*token_columns)(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                        float inverse_temperature, const std::int32_t* target, float* logprob,
                        float* entropy, float* lse, BlockMass* blocks, float* e);
  /// dlogits[n,v] = inverse_temperature * (dlogprob (onehot - p) + dentropy * dH/dz), with p from
  /// lse. dlogits may be the same memory as logits. The v tokens may be a part of the vocabulary.
  /// Then a target outside [0, v) belongs to another part.
  void (*token_columns_backward)(ExecutionContext&, const float* logits, std::int64_t n,
                                 std::int64_t v, float inverse_temperature,
                                 const std::int32_t* target, const float* lse, const float* entropy,
                                 const float* dlogprob, const float* dentropy, float* dlogits);
  /// For p = softmax(logits inverse_temperature) of each row: squares[i] = sum p^2, and kl[i] = sum
  /// p (ln p - ln q), where q is the softmax of `other` [n,v]. If `other` is nullptr it computes no
  /// kl. lse and other_lse [n] come from token_columns.
  void (*wide_columns)(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                       std::int64_t v, float inverse_temperature, const float* lse,
                       const float* other_lse, float* squares, float* kl);

  // Sampling from one row.
  /// e[v] = exp(logits inverse_temperature - largest). No scaled logit may exceed `largest`.
  void (*exponentials)(ExecutionContext&, const float* logits, std::int64_t v,
                       float inverse_temperature, float largest, float* e);
  // The weights w[v] of a row below are e times the factor of the block, [vocabulary_blocks(v)].
  /// For each threshold least[kThresholds]: the sum of the weights that reach it, or with `number`
  /// their count. Sums are in fp32 within a block and in double over blocks.
  void (*sums_from)(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
                    const float* least, bool number, double* sum);
  /// Writes the places of low <= w < high in ascending order, and returns their number. `place` has
  /// room for all v. sum [vocabulary_blocks(v)] receives the sum of the w >= high of each block.
  std::int64_t (*places_between)(ExecutionContext&, const float* e, const float* factor,
                                 std::int64_t v, float low, float high, float* sum,
                                 std::int32_t* place);

  // Passes over all parameters. parameter_kernels.hpp says what they compute.
  float (*accumulate_fixed_point)(const float* values, std::int64_t count, double scale,
                                  std::int64_t* sum);
  void (*from_fixed_point)(const std::int64_t* sum, std::int64_t count, double scale,
                           float* values);
  double (*sum_of_squares)(const float* values, std::int64_t count);
  /// The corrections are 1 - beta^step of the two moments.
  void (*adamw)(float* weight, const float* gradient, float* m, float* v, std::int64_t count,
                const AdamWStep& step, double first_correction, double second_correction);
};

/// The names of numerics, which fix the bits of a run. All sets of one numerics have the same bits.
/// The reference has its own numerics, "fp64_loops".
inline constexpr const char *kFp32FixedOrder = "fp32_fixed_order", *kBf16Sliced8 = "bf16_sliced8",
                            *kCudaBf16Sliced8 = "cuda_bf16_sliced8";

/// The set of kCudaBf16Sliced8, with what the host does for a device. Packed matrices and pages are
/// those of cuda/device_kernels.hpp. Kernels that the device computes (namespace cuda) are null.
/// The integer sums have the host's bits.
const KernelSet& device_host_kernels();

const KernelSet& reference_kernels();
const KernelSet& scalar_kernels();
/// The set of these numerics that every machine can run. Throws std::invalid_argument if there are
/// no such numerics.
const KernelSet& plain_kernels(std::string_view numerics);
/// The set of these numerics that the environment variable ROLLCALL_KERNELS names. Without it, the
/// fastest set that this processor runs, measured once per process with a small linear + attention
/// probe. Throws std::runtime_error if ROLLCALL_KERNELS names no set of these numerics ("reference"
/// is always allowed), and std::invalid_argument if there are no such numerics.
const KernelSet& selected_kernels(std::string_view numerics = kFp32FixedOrder);
/// The set with this name: "reference", "scalar", "avx2" or "avx512", and in bf16_sliced8 also
/// "avx512_bf16" or "amx". Returns nullptr when it is unknown or this processor cannot run it.
const KernelSet* kernels_by_name(std::string_view name,
                                 std::string_view numerics = kFp32FixedOrder);

}  // namespace rollcall::kernels
