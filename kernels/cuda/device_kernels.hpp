// The operations of a step on one CUDA device, as kernel_set.hpp has them for the host. They are
// built with ROLLCALL_ENABLE_CUDA only.
//
// - Every pointer is to memory that the device can access. Calls are queued on
//   ExecutionContext::stream and return before they are done. Temporary memory is the caller's
//   if a call takes some, and stream-ordered otherwise. A failed launch throws
//   std::runtime_error.
// - In the numerics `cuda_bf16_sliced8` products are bf16 in mma.m16n8k16 with fp32 sums. k ascends
//   in steps of 32, and slices of k are summed separately and folded by a binary tree. All else is
//   fp32. A row's bits depend on that row only. They differ from those of a processor, because a
//   tensor core adds in its own order.
#pragma once

#include "kernels/bf16.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/parameter_kernels.hpp"

#include <span>
#include <vector>

namespace rollcall::kernels::cuda {

inline constexpr std::int64_t kStep = 32;  ///< inputs in a step of a product
constexpr std::int64_t stepped(std::int64_t k) { return (k + kStep - 1) / kStep * kStep; }

/// A matrix in bf16, row by row. Each row is padded with zeros to stepped(columns) elements and is
/// aligned to 16 bytes.
struct Rows16 {
  const Bf16* rows;
  std::int64_t count, columns;
};

/// to[n, stepped(k)] = x[n,k], rounded.
void round_rows(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k, Bf16* to);
/// to[k, stepped(n)] = the transpose of x[n,k], rounded. The products of the backward pass read it.
void round_transposed(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k, Bf16* to);
/// to[columns, stepped(count)] = the transpose of x.
void transpose(ExecutionContext&, const Rows16& x, Bf16* to);
/// y[n,o] = x W^T + bias, where W has o rows and x has n rows with the same number of columns.
/// `bias` may be nullptr. `slices` is 1, 2, 4 or 8. `parts`: sliced_floats() of temporary memory.
/// `added` [n,o], or nullptr, is added last. It may be y.
void product(ExecutionContext&, const Rows16& x, const Rows16& w, const float* bias, int slices,
             float* y, float* parts = nullptr, const float* added = nullptr);
constexpr std::int64_t sliced_floats(std::int64_t n, std::int64_t o, int slices) {
  return slices > 1 ? slices * n * o : 0;
}
/// One of several products: weights [o,k], bias (or nullptr), and the memory for y[n,o].
struct Factor {
  Rows16 w;
  const float* bias;
  float* y;
  const float* added = nullptr;
};
inline constexpr int kMostFactors = 3;
/// Up to three products of the same rows, without slices, in one launch. The bits are those of
/// separate calls.
void products(ExecutionContext&, const Rows16& x, std::span<const Factor> factors);
/// product() of x[n,k] in fp32, which it rounds first.
void linear(ExecutionContext&, const float* x, std::int64_t n, const Rows16& w, const float* bias,
            int slices, float* y);

/// x[n,width] = the table's rows numbered `token`, converted to fp32.
void embed(ExecutionContext&, const Rows16& table, const std::int32_t* token, std::int64_t n,
           float* x);
/// Adds round(dx scale) to the rows of sum[vocabulary, width] that belong to the tokens. The sums
/// are integers, so rows of the same token may come in any order. `largest` (or nullptr) is as
/// for accumulate_fixed_point.
void embed_backward(ExecutionContext&, const float* dx, const std::int32_t* token, std::int64_t n,
                    std::int64_t width, double scale, std::int64_t* sum, float* largest = nullptr);
void add(ExecutionContext&, const float* x, std::int64_t count, float* y);  ///< y += x
/// y[n,width]: row i is the sum, in order, of the rows [width] to which row[begin[i]] ..
/// row[begin[i + 1] - 1] point. It is zero if there are none. Without `begin` it is a copy of
/// row[i].
void sum_rows(ExecutionContext&, const float* const* row, const std::int32_t* begin, std::int64_t n,
              std::int64_t width, float* y);
/// y[width] = the sum of the rows of x[n,width]. Runs of kNormRows rows are summed in order, then
/// runs of those sums, and so on.
void sum_columns(ExecutionContext&, const float* x, std::int64_t n, std::int64_t width, float* y);
// As in kernel_set.hpp, except that sums over rows are summed in runs of kNormRows. So several
// calls have the bits of one call only if they are cut at whole runs. `rounded` [n, stepped(d)] (or
// nullptr) receives y as round_rows writes it.
void rms_norm(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y, Bf16* rounded = nullptr);
inline constexpr std::int64_t kNormRows = 64;  ///< rows that are summed at a time
/// Floats of stream-ordered scratch memory that rms_norm_backward takes.
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

/// The width of a head in a page. A page of one layer has for each key head its keys [64, width],
/// then its values [64, width], in bf16, where width is head_dim rounded up to a multiple of 16.
constexpr std::int64_t head_width(HeadShape shape) { return (shape.head_dim + 15) / 16 * 16; }
constexpr std::int64_t page_bytes(HeadShape shape) {
  return shape.kv_heads * 2 * kPageKeys * head_width(shape) * std::int64_t(sizeof(Bf16));
}
/// Stores row i of k and v [.., kv_heads, head_dim], or row source[i], at position rows[i].keys - 1
/// of rows[i].pages. The layer begins `offset` bytes after the beginning of a page.
void store_positions(ExecutionContext&, const float* k, const float* v, const AttentionRow* rows,
                     std::int64_t n, HeadShape shape, std::int64_t offset,
                     const std::int32_t* source = nullptr);
/// As in kernel_set.hpp, for head_dim of at most 256. Decode, prefill and training make the same
/// call. `rounded` (or nullptr) receives the rows of all heads, as for rms_norm.
void attention(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out, Bf16* rounded = nullptr);
/// A sequence of a micro-batch. Its queries are the rows [begin, begin + rows). Each attends first
/// to the `before` keys that the last query of an earlier sequence, `parent`, attends to (-1: no
/// parent), and then to its own sequence up to itself.
struct AttentionSequence {
  std::int64_t parent, before, begin, rows;
};
inline constexpr int kBackwardTile = 64;
/// The work of the backward pass: tiles of kBackwardTile rows of a sequence, each taken once as
/// queries and once as keys. Pointers are to device memory.
struct AttentionTiles {
  struct Tile {
    std::int32_t sequence, first;  ///< the rows of `sequence` from its row `first` on
    /// The part of the array `children` with all sequences that continue this one, directly or
    /// through others.
    std::int32_t children, children_end;
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
/// The tables of tiles, on the host. Throws std::invalid_argument if the sequences are not as
/// described above.
AttentionTileTable attention_tiles(std::span<const AttentionSequence> sequences);
/// Writes dq [rows, q_heads, head_dim], dk and dv for all rows of the sequences. dout is the
/// gradient with respect to the output of attention() over them.
void attention_backward(ExecutionContext&, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t rows, HeadShape shape,
                        const AttentionTiles& tiles, float* dq, float* dk, float* dv);

/// As in kernel_set.hpp, but without `e`, and `blocks` [n, vocabulary_blocks(v) + 1] is required.
/// `sums`: column_floats() of temporary memory.
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
/// The tokens that may be sampled: ids below `ids`, among them the top_k most probable (0: all),
/// and among those the fewest that hold top_p of their mass (Holtzman et al. 2020). Among equal
/// probabilities the lower ids come first.
struct DrawRules {
  std::int64_t ids;
  float inverse_temperature;
  std::int64_t top_k = 0;
  float top_p = 1.0F;
};
/// Samples one token of each row by inverse CDF over ascending ids at u[n] in [0, 1), in fp32. If
/// `u` is nullptr it takes the most probable token. `blocks` come from token_columns. logprob[n]
/// (or nullptr) receives the token's log-prob in the softmax over all tokens.
void sample(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
            const DrawRules& rules, const BlockMass* blocks, const float* u, std::int32_t* token,
            float* logprob = nullptr);
/// As in kernel_set.hpp.
void wide_columns(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                  std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl);

/// As in parameter_kernels.hpp. largest[1] becomes the larger of itself and the largest |value|. A
/// value that is not finite counts as infinity.
void accumulate_fixed_point(ExecutionContext&, const float* values, std::int64_t count,
                            int exponent, std::int64_t* sum, float* largest);
void from_fixed_point(ExecutionContext&, const std::int64_t* sum, std::int64_t count, int exponent,
                      float* values);
/// Adds to sum[1] a 64-bit hash of each value's bits and of its index first + i. The sum identifies
/// the contents of a buffer, however the buffer is cut into calls.
void add_checksum(ExecutionContext&, const float* values, std::int64_t first, std::int64_t count,
                  std::int64_t* sum);
/// squares[i] = sum of squares of block i of kNormBlock values, in double.
void sums_of_squares(ExecutionContext&, const float* values, std::int64_t count, double* squares);
/// AdamW of the matrix weight[rows, columns]. `published` [rows, stepped(columns)], or nullptr,
/// receives the new weights rounded to bf16.
void adamw(ExecutionContext&, float* weight, std::int64_t rows, std::int64_t columns,
           const float* gradient, float* m, float* v, const AdamWStep& step, Bf16* published);

}  // namespace rollcall::kernels::cuda
