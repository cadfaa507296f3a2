// Backward pass of causal attention over one sequence. It follows Dao 2023, algorithm 2, without its
// tiling of the softmax. For each block of queries and each chunk of keys it computes
//   S = q K^T scale,  P = softmax S,  dP = dout V^T,  dS = P (dP - rowsum(P dP)) scale,
//   dq = dS K,  dk += dS^T q,  dv += P^T dout.
// Each product is `linear` of the chosen numerics, on transposed operands where needed. The steps
// between the products are fp32. What else differs between architectures is in
// modules/attention_form.simd.hpp.
#pragma once

#include "kernels/attention.simd.hpp"
#include "kernels/bf16_linear.simd.hpp"
#include "kernels/transpose.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr std::int64_t kQueryBlock = 64, kKeyChunk = 256;

struct Fp32Backward {
  static constexpr auto product = linear;
  static constexpr auto pack = pack_transposed_fp32;
  static constexpr auto bytes = packed_bytes_fp32;
};
struct Bf16Backward {
  static constexpr auto product = sliced_linear;
  static constexpr auto pack = pack_transposed_bf16;
  static constexpr auto bytes = packed_bytes_bf16;
};

/// Hands out pieces of scratch memory, or only counts their floats if `memory` is null.
struct Pieces {
  float* memory = nullptr;
  std::int64_t used = 0;
  float* take(std::int64_t floats) {
    float* piece = memory ? memory + used : nullptr;
    used += (floats + kLanes - 1) / kLanes * kLanes;
    return piece;
  }
};

/// What the backward pass of one key head keeps besides its operands; d is the width of a head.
struct HeadScratch {
  static constexpr bool kPlain = true;  ///< a query sees all keys up to its own
  float *rows_k, *rows_v;               ///< [keys,d] of this head, gathered
  float* turned;                        ///< [d,keys of a chunk] a chunk transposed
  float *k_packed, *v_packed;           ///< all chunks of K and V, each packed as W[keys,d]
  float* k_turned;                      ///< all chunks of K, each packed as W[d,keys]
  float *sum_k, *sum_v;                 ///< [keys,d] the gradients so far
  float *rows_q, *rows_dout, *sum_q;    ///< [kQueryBlock,d] a block of queries and its gradient
  float *q_turned, *dout_turned;        ///< the block, packed as W[d,queries]
  float *scores, *dscores;              ///< S then P, and dP then dS, of all chunks
  float* columns;                       ///< a chunk of scores or of dscores, transposed
  float* part;                          ///< a product that is added to one of the sums
};

template <class Numerics, class Scratch = HeadScratch>
struct AttentionBackward {
  ExecutionContext& context;
  HeadShape shape;
  std::int64_t queries, keys;
  const float *q, *k, *v, *dout;
  float *dq, *dk, *dv;
  Scratch scratch{};

  std::int64_t d() const { return shape.head_dim; }
  std::int64_t group() const { return shape.q_heads / shape.kv_heads; }
  std::int64_t chunks(std::int64_t seen) const { return (seen + kKeyChunk - 1) / kKeyChunk; }
  std::int64_t chunk_keys(std::int64_t c) const {
    return keys - c * kKeyChunk < kKeyChunk ? keys - c * kKeyChunk : kKeyChunk;
  }
  static std::int64_t packed_floats(std::int64_t o, std::int64_t i) {
    return (Numerics::bytes(o, i) / 4 + kLanes - 1) / kLanes * kLanes;
  }
  /// Floats of a chunk of keys that is packed as W[keys,d], or with as_inputs() as W[d,keys].
  std::int64_t as_keys() const { return packed_floats(kKeyChunk, d()); }
  std::int64_t as_inputs() const { return packed_floats(d(), kKeyChunk); }

  void take_all(Pieces& pieces) {
    const std::int64_t c = chunks(keys), block = kQueryBlock * d();
    HeadScratch& s = scratch;
    if constexpr (!Scratch::kPlain) scratch.slopes = pieces.take(c * kKeyChunk);
    s.rows_k = pieces.take(keys * d());
    s.rows_v = pieces.take(keys * d());
    s.turned = pieces.take(keys * d());
    s.k_packed = pieces.take(c * as_keys());
    s.v_packed = pieces.take(c * as_keys());
    s.k_turned = pieces.take(c * as_inputs());
    s.sum_k = pieces.take(keys * d());
    s.sum_v = pieces.take(keys * d());
    s.rows_q = pieces.take(block);
    s.rows_dout = pieces.take(block);
    s.sum_q = pieces.take(block);
    s.q_turned = pieces.take(packed_floats(d(), kQueryBlock));
    s.dout_turned = pieces.take(packed_floats(d(), kQueryBlock));
    s.scores = pieces.take(c * kKeyChunk * kQueryBlock);
    s.dscores = pieces.take(c * kKeyChunk * kQueryBlock);
    s.columns = pieces.take(kKeyChunk * kQueryBlock);
    s.part = pieces.take((kKeyChunk + kQueryBlock) * d());
  }

  /// y[n,o] = x[n,i] W^T.
  void product(const float* x, std::int64_t n, std::int64_t i, const float* packed, std::int64_t o,
               float* y) const {
    const Product one{packed, o, nullptr, y};
    Numerics::product(context, x, n, i, &one, 1, 1, 0, panels_of(o));
  }
  static void add(float* to, const float* from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kLanes)
      store_up_to(to + i, count - i,
                  load_up_to(to + i, count - i) + load_up_to(from + i, count - i));
  }
  void gather(const float* from, std::int64_t count, std::int64_t stride, float* to) const {
    for (std::int64_t i = 0; i < count; ++i)
      __builtin_memcpy(to + i * d(), from + i * stride,
                       static_cast<std::size_t>(d()) * sizeof(float));
  }
  void scatter(const float* from, std::int64_t count, std::int64_t stride, float* to) const {
    for (std::int64_t i = 0; i < count; ++i)
      __builtin_memcpy(to + i * stride, from + i * d(),
                       static_cast<std::size_t>(d()) * sizeof(float));
  }

  void pack_keys(std::int64_t kv_head) {
    const std::int64_t stride = shape.kv_heads * d();
    gather(k + kv_head * d(), keys, stride, scratch.rows_k);
    gather(v + kv_head * d(), keys, stride, scratch.rows_v);
    for (std::int64_t c = 0; c < chunks(keys); ++c) {
      const std::int64_t count = chunk_keys(c), from = c * kKeyChunk * d();
      transpose(scratch.rows_k + from, count, d(), d(), scratch.turned);
      Numerics::pack(scratch.turned, d(), count, 0, panels_of(count),
                     scratch.k_packed + c * as_keys());
      transpose(scratch.rows_v + from, count, d(), d(), scratch.turned);
      Numerics::pack(scratch.turned, d(), count, 0, panels_of(count),
                     scratch.v_packed + c * as_keys());
      Numerics::pack(scratch.rows_k + from, count, d(), 0, panels_of(d()),
                     scratch.k_turned + c * as_inputs());
    }
    for (std::int64_t i = 0; i < keys * d(); ++i) scratch.sum_k[i] = scratch.sum_v[i] = 0.0F;
  }

  /// Row r of chunk c of `of`, which is scores or dscores. It holds the chunks one after another,
  /// each [rows, keys of the chunk].
  float* row(float* of, std::int64_t c, std::int64_t rows, std::int64_t r) const {
    return of + c * kKeyChunk * rows + r * chunk_keys(c);
  }

  /// Turns one row of S and dP into one of P and dS. Beyond `seen` keys both become 0.
  void softmax(std::int64_t rows, std::int64_t r, std::int64_t seen, std::int64_t all_chunks) {
    const Vec scale = splat(1.0F / __builtin_sqrtf(static_cast<float>(d())));
    const auto each = [&](const auto& visit) {
      for (std::int64_t c = 0; c < all_chunks; ++c) {
        float *s = row(scratch.scores, c, rows, r), *ds = row(scratch.dscores, c, rows, r);
        const std::int64_t left = seen - c * kKeyChunk,
                           count = left < chunk_keys(c) ? left : chunk_keys(c);
        for (std::int64_t j = 0; j < count; j += kLanes) visit(s + j, ds + j, count - j);
      }
    };
    Vec largest = splat(kBelowAllScores);
    each([&](const float* s, const float*, std::int64_t count) {
      largest = max(largest, load_up_to(s, count, kBelowAllScores));
    });
    const Vec top = splat(fold_max(largest)) * scale;
    Vec sum = splat(0.0F);
    each([&](float* s, const float*, std::int64_t count) {
      Vec e = exp_nonpositive(load_up_to(s, count) * scale - top);
      if (count < kLanes) e = keep_first(e, count, splat(0.0F));
      sum = sum + e;
      store_up_to(s, count, e);
    });
    const Vec total = splat(fold_sum(sum));
    Vec mean = splat(0.0F);
    each([&](float* s, const float* ds, std::int64_t count) {
      const Vec p = load_up_to(s, count) / total;
      mean = fma(p, load_up_to(ds, count), mean);
      store_up_to(s, count, p);
    });
    const Vec pull = splat(fold_sum(mean));
    each([&](const float* s, float* ds, std::int64_t count) {
      store_up_to(ds, count, load_up_to(s, count) * (load_up_to(ds, count) - pull) * scale);
    });
    for (std::int64_t c = 0; c < all_chunks; ++c) {
      const std::int64_t left = seen - c * kKeyChunk;
      for (std::int64_t j = left < 0 ? 0 : left; j < chunk_keys(c); ++j)
        row(scratch.scores, c, rows, r)[j] = row(scratch.dscores, c, rows, r)[j] = 0.0F;
    }
  }

  /// The first chunk that one of the queries from `first` on sees.
  std::int64_t first_chunk(std::int64_t first) const {
    if constexpr (Scratch::kPlain) return 0;
    else return scratch.first_key(keys - queries + first + 1) / kKeyChunk;
  }

  /// Queries [first, first + rows) of one query head.
  void block(std::int64_t head, std::int64_t first, std::int64_t rows) {
    const std::int64_t stride = shape.q_heads * d(), at = (first * shape.q_heads + head) * d(),
                       before = keys - queries, seen_chunks = chunks(before + first + rows);
    gather(q + at, rows, stride, scratch.rows_q);
    gather(dout + at, rows, stride, scratch.rows_dout);
    Numerics::pack(scratch.rows_q, rows, d(), 0, panels_of(d()), scratch.q_turned);
    Numerics::pack(scratch.rows_dout, rows, d(), 0, panels_of(d()), scratch.dout_turned);
    for (std::int64_t c = Scratch::kPlain ? 0 : first_chunk(first); c < seen_chunks; ++c) {
      product(scratch.rows_q, rows, d(), scratch.k_packed + c * as_keys(), chunk_keys(c),
              row(scratch.scores, c, rows, 0));
      product(scratch.rows_dout, rows, d(), scratch.v_packed + c * as_keys(), chunk_keys(c),
              row(scratch.dscores, c, rows, 0));
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      if constexpr (Scratch::kPlain) softmax(rows, r, before + first + r + 1, seen_chunks);
      else
        scratch.softmax(*this, head, rows, r, before + first + r + 1, first_chunk(first),
                        seen_chunks);
    }
    for (std::int64_t i = 0; i < rows * d(); ++i) scratch.sum_q[i] = 0.0F;
    for (std::int64_t c = Scratch::kPlain ? 0 : first_chunk(first); c < seen_chunks; ++c) {
      const std::int64_t count = chunk_keys(c), from = c * kKeyChunk * d();
      product(row(scratch.dscores, c, rows, 0), rows, count, scratch.k_turned + c * as_inputs(),
              d(), scratch.part);
      add(scratch.sum_q, scratch.part, rows * d());
      transpose(row(scratch.dscores, c, rows, 0), rows, count, count, scratch.columns);
      product(scratch.columns, count, rows, scratch.q_turned, d(), scratch.part);
      add(scratch.sum_k + from, scratch.part, count * d());
      transpose(row(scratch.scores, c, rows, 0), rows, count, count, scratch.columns);
      product(scratch.columns, count, rows, scratch.dout_turned, d(), scratch.part);
      add(scratch.sum_v + from, scratch.part, count * d());
    }
    scatter(scratch.sum_q, rows, stride, dq + at);
  }

  void heads(std::int64_t begin, std::int64_t end) {
    Pieces counted;
    take_all(counted);
    Pieces pieces{context.operands.floats(static_cast<std::size_t>(counted.used)), 0};
    take_all(pieces);
    for (std::int64_t kv_head = begin; kv_head < end; ++kv_head) {
      pack_keys(kv_head);
      for (std::int64_t head = kv_head * group(); head < (kv_head + 1) * group(); ++head)
        for (std::int64_t first = 0; first < queries; first += kQueryBlock)
          block(head, first, queries - first < kQueryBlock ? queries - first : kQueryBlock);
      scatter(scratch.sum_k, keys, shape.kv_heads * d(), dk + kv_head * d());
      scatter(scratch.sum_v, keys, shape.kv_heads * d(), dv + kv_head * d());
    }
  }
};

template <class Numerics>
static void attention_backward(ExecutionContext& context, const float* q, const float* k,
                               const float* v, const float* dout, std::int64_t queries,
                               std::int64_t keys, HeadShape shape, std::int64_t begin,
                               std::int64_t end, float* dq, float* dk, float* dv) {
  AttentionBackward<Numerics> backward{context, shape, queries, keys, q, k, v, dout, dq, dk, dv};
  backward.heads(begin, end);
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
