// The operations of a step on one CUDA device: what kernel_set.hpp lists for the host, on device
// memory. Built with ROLLCALL_ENABLE_CUDA only.
//
// - Every pointer is to memory that the device reaches. Calls are queued on
//   ExecutionContext::stream and return before they are done; temporary memory is
//   the caller's where it gives some, stream-ordered elsewhere. std::runtime_error when a launch
//   fails.
// - Numerics `cuda_bf16_sliced8`: products of bf16 in mma.m16n8k16 with fp32 sums, k ascending in
//   steps of 32, slices of k summed apart and folded by a binary
//   tree; all else in fp32. A row's bits depend on that row alone. They are not the bits of a
//   processor: a tensor core adds in an order of its own.
#pragma once

#include "kernels/bf16.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/parameter_kernels.hpp"

#include <span>
#include <vector>

namespace rollcall::kernels::cuda {

inline constexpr std::int64_t kStep = 32;  ///< inputs of a step of a product
constexpr std::int64_t stepped(std::int64_t k) { return (k + kStep - 1) / kStep * kStep; }

/// A matrix in bf16, row by row, each filled up with zeros to stepped(columns) elements; 16-byte
/// aligned.
struct Rows16 {
  const Bf16* rows;
  std::int64_t count, columns;
};

/// to[n, stepped(k)] = x[n,k], rounded.
void round_rows(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k, Bf16* to);
/// to[k, stepped(n)] = the transpose of x[n,k], rounded: what the products of the backward pass
/// read.
void round_transposed(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k, Bf16* to);
/// to[columns, stepped(count)] = the transpose of x.
void transpose(ExecutionContext&, const Rows16& x, Bf16* to);
/// y[n,o] = x W^T (+ bias unless nullptr), W of o rows and x of n rows with equal columns. slices:
/// 1, 2, 4 or 8. Temporary memory: sliced_floats. `added` [n,o], or nullptr, is added last; it may
/// be y.
void product(ExecutionContext&, const Rows16& x, const Rows16& w, const float* bias, int slices,
             float* y, float* parts = nullptr, const float* added = nullptr);
constexpr std::int64_t sliced_floats(std::int64_t n, std::int64_t o, int slices) {
  return slices > 1 ? slices * n * o : 0;
}
/// A layer's weights [o,k] and bias (or nullptr), and where its y[n,o] goes.
struct Factor {
  Rows16 w;
  const float* bias;
  float* y;
  const float* added = nullptr;
};
inline constexpr int kMostFactors = 3;
/// Up to three products of the same rows, not cut in slices, in one launch: the same bits as one by
/// one.
void products(ExecutionContext&, const Rows16& x, std::span<const Factor> factors);
/// product() of x[n,k] in fp32, which it rounds.
void linear(ExecutionContext&, const float* x, std::int64_t n, const Rows16& w, const float* bias,
            int slices, float* y);

/// x[n,width] = rows of the table that `token` names; a row of bf16 becomes fp32.
void embed(ExecutionContext&, const Rows16& table, const std::int32_t* token, std::int64_t n,
           float* x);
/// Adds round(dx scale) into sum[vocabulary, width] at the tokens' rows: integers, so rows of the
/// same token in any order. `largest` (or nullptr) as below.
void embed_backward(ExecutionContext&, const float* dx, const std::int32_t* token, std::int64_t n,
                    std::int64_t width, double scale, std::int64_t* sum, float* largest = nullptr);
void add(ExecutionContext&, const float* x, std::int64_t count, float* y);  ///< y += x
/// y[n,width]: row i is the sum of the rows [width] that row[begin[i]] .. row[begin[i + 1] - 1]
/// point to, in that order; zeros where there is none. Without `begin` the copy of row[i].
void sum_rows(ExecutionContext&, const float* const* row, const std::int32_t* begin, std::int64_t n,
              std::int64_t width, float* y);
/// y[width] = sum of the rows of x[n,width]: stretches of kNormRows rows in order, and then in
/// stretches of those.
void sum_columns(ExecutionContext&, const float* x, std::int64_t n, std::int64_t width, float* y);
// As in kernel_set.hpp, but that sums over rows go in stretches of kNormRows, so that calls add up
// to one at whole stretches alone. `rounded` [n, stepped] (or nullptr): y as round_rows makes it.
void rms_norm(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y, Bf16* rounded = nullptr);
inline constexpr std::int64_t kNormRows = 64;  ///< that are summed at a time
/// stream-ordered scratch
constexpr std::int64_t norm_backward_floats(std::int64_t n, std::int64_t d) {
  return n + (n + kNormRows - 1) / kNormRows * d;
}
void rms_norm_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, const float* dy, float* dx, float* dweight);
void rope(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads, std::int64_t head_dim,
          const std::int32_t* position, const float* cos, const float* sin, int direction);
void swiglu(ExecutionContext&, const float* gate, const float* up, std::int64_t n, std::int64_t f,
            float* y, Bf16* rounded = nullptr);
void swiglu_backward(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                     std::int64_t f, const float* dy, float* dgate, float* dup);

/// A page of one layer: for each key head its keys [64, width], then its values [64, width], in
/// bf16 with width = head_dim filled up to 16.
constexpr std::int64_t head_width(HeadShape shape) { return (shape.head_dim + 15) / 16 * 16; }
constexpr std::int64_t page_bytes(HeadShape shape) {
  return shape.kv_heads * 2 * kPageKeys * head_width(shape) * std::int64_t(sizeof(Bf16));
}
/// Puts row i of k and v [.., kv_heads, head_dim], or row source[i], where rows[i].pages has
/// position rows[i].keys - 1, `offset` bytes from a page's beginning.
void store_positions(ExecutionContext&, const float* k, const float* v, const AttentionRow* rows,
                     std::int64_t n, HeadShape shape, std::int64_t offset,
                     const std::int32_t* source = nullptr);
/// As in kernel_set.hpp, head_dim at most 256. Decode, prefill and training are the same call.
/// `rounded`, of all heads, as of rms_norm.
void attention(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out, Bf16* rounded = nullptr);
/// A sequence of a micro-batch: its queries are the rows [begin, begin + rows); they see the
/// `before` keys that the last query of an earlier one, `parent`, sees (-1: none), and then their
/// own sequence's up to themselves.
struct AttentionSequence {
  std::int64_t parent, before, begin, rows;
};
inline constexpr int kBackwardTile = 64;
/// What the backward pass goes through: as many rows of each sequence at a time, once as queries
/// and once as keys. Pointers are the device's.
struct AttentionTiles {
  struct Tile {
    std::int32_t sequence, first;         ///< its rows from `first` on
    std::int32_t children, children_end;  ///< who continues the sequence, or one that does, and so
                                          ///< on, in `children`
  };
  const AttentionSequence* sequences;
  const Tile* tiles;
  std::int64_t count;
  const std::int32_t* children;
};
struct AttentionTileTable {
  std::vector<AttentionTiles::Tile> tiles;
  std::vector<std::int32_t> children;
};
/// on the host; std::invalid_argument where that does not hold
AttentionTileTable attention_tiles(std::span<const AttentionSequence> sequences);
/// dq [rows, q_heads, head_dim], dk and dv of all rows of the sequences, from dout, the gradient by
/// the output of attention() over them.
void attention_backward(ExecutionContext&, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t rows, HeadShape shape,
                        const AttentionTiles& tiles, float* dq, float* dk, float* dv);

/// As in kernel_set.hpp without its `e`; `blocks` [n, vocabulary_blocks(v) + 1] is asked for here.
/// Temporary memory: column_floats.
void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                   float inverse_temperature, const std::int32_t* target, float* logprob,
                   float* entropy, float* lse, BlockMass* blocks, float* sums = nullptr);
constexpr std::int64_t column_floats(std::int64_t n, std::int64_t v) {
  return 3 * n * vocabulary_blocks(v);
}
void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                            float inverse_temperature, const std::int32_t* target, const float* lse,
                            const float* entropy, const float* dlogprob, const float* dentropy,
                            float* dlogits);
/// What is drawn: ids below `ids`; of them the top_k most probable (0: all), and of those the
/// fewest that have top_p of their mass (Holtzman et al. 2020). Of equals the lower ids.
struct DrawRules {
  std::int64_t ids;
  float inverse_temperature;
  std::int64_t top_k = 0;
  float top_p = 1.0F;
};
/// One token of each row by inverse CDF at u[n] in [0, 1), in fp32, ids ascending; the most
/// probable one where `u` is nullptr. `blocks` from token_columns, whose log-prob of the token, of
/// the whole softmax, goes to logprob[n] (or nullptr).
void sample(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
            const DrawRules& rules, const BlockMass* blocks, const float* u, std::int32_t* token,
            float* logprob = nullptr);
/// As in kernel_set.hpp.
void wide_columns(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                  std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl);

/// As in parameter_kernels.hpp. largest[1]: becomes the larger of itself and the largest |value|,
/// infinity where one is none.
void accumulate_fixed_point(ExecutionContext&, const float* values, std::int64_t count,
                            int exponent, std::int64_t* sum, float* largest);
void from_fixed_point(ExecutionContext&, const std::int64_t* sum, std::int64_t count, int exponent,
                      float* values);
/// Adds to sum[1] a 64-bit number of each value's bits and its place first + i: what a buffer
/// holds, however it is cut.
void add_checksum(ExecutionContext&, const float* values, std::int64_t first, std::int64_t count,
                  std::int64_t* sum);
/// squares[i] = sum of squares of block i of kNormBlock values, in double.
void sums_of_squares(ExecutionContext&, const float* values, std::int64_t count, double* squares);
/// AdamW of the matrix weight[rows, columns], and the new weights, rounded, into `published` [rows,
/// stepped(columns)] unless that is nullptr.
void adamw(ExecutionContext&, float* weight, std::int64_t rows, std::int64_t columns,
           const float* gradient, float* m, float* v, const AdamWStep& step, Bf16* published);

}  // namespace rollcall::kernels::cuda
