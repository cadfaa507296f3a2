// Backward of causal attention over one sequence (Dao 2023, algorithm 2, without its tiling of the
// softmax): for blocks of queries and chunks of keys
//   S = q K^T scale, P = softmax S, dP = dout V^T, dS = P (dP - rowsum(P dP)) scale;  dq = dS K, dk
//   += dS^T q, dv += P^T dout
// Each product is `linear` of the numerics at hand, on operands transposed where need be; what lies
// between is fp32.
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

/// Scratch memory taken piece by piece, or only counted.
struct Pieces {
  float* memory = nullptr;
  std::int64_t used = 0;
  float* take(std::int64_t floats) {
    float* piece = memory ? memory + used : nullptr;
    used += (floats + kLanes - 1) / kLanes * kLanes;
    return piece;
  }
};

template <class Numerics>
struct AttentionBackward {
  ExecutionContext& context;
  HeadShape shape;
  std::int64_t queries, keys;
  const float *q, *k, *v, *dout;
  float *dq, *dk, *dv;
  // Of one head:
  Pieces pieces{};
  // [keys,d], [keys,d], [d,keys]
  float *rows_k = nullptr, *rows_v = nullptr, *turned = nullptr;
  // of all chunks: as W[keys,d], and K as W[d,keys]
  float *k_packed = nullptr, *v_packed = nullptr, *k_turned = nullptr;
  float *sum_k = nullptr, *sum_v = nullptr;                         // [keys,d]
  float *rows_q = nullptr, *rows_dout = nullptr, *sum_q = nullptr;  // [kQueryBlock,d]
  float *q_turned = nullptr, *dout_turned = nullptr;                // as W[d,queries]
  float *scores = nullptr, *dscores = nullptr;                      // of all chunks
  float *columns = nullptr, *part = nullptr;  // a chunk's transposed, and a product

  std::int64_t d() const { return shape.head_dim; }
  std::int64_t group() const { return shape.q_heads / shape.kv_heads; }
  std::int64_t chunks(std::int64_t seen) const { return (seen + kKeyChunk - 1) / kKeyChunk; }
  std::int64_t chunk_keys(std::int64_t c) const {
    return keys - c * kKeyChunk < kKeyChunk ? keys - c * kKeyChunk : kKeyChunk;
  }
  static std::int64_t packed_floats(std::int64_t o, std::int64_t i) {
    return (Numerics::bytes(o, i) / 4 + kLanes - 1) / kLanes * kLanes;
  }
  std::int64_t as_keys() const { return packed_floats(kKeyChunk, d()); }    // a chunk as W[keys,d]
  std::int64_t as_inputs() const { return packed_floats(d(), kKeyChunk); }  // as W[d,keys]

  void take_all() {
    const std::int64_t c = chunks(keys), block = kQueryBlock * d();
    rows_k = pieces.take(keys * d()), rows_v = pieces.take(keys * d()),
    turned = pieces.take(keys * d());
    k_packed = pieces.take(c * as_keys()), v_packed = pieces.take(c * as_keys()),
    k_turned = pieces.take(c * as_inputs());
    sum_k = pieces.take(keys * d()), sum_v = pieces.take(keys * d());
    rows_q = pieces.take(block), rows_dout = pieces.take(block), sum_q = pieces.take(block);
    q_turned = pieces.take(packed_floats(d(), kQueryBlock)),
    dout_turned = pieces.take(packed_floats(d(), kQueryBlock));
    scores = pieces.take(c * kKeyChunk * kQueryBlock),
    dscores = pieces.take(c * kKeyChunk * kQueryBlock);
    columns = pieces.take(kKeyChunk * kQueryBlock),
    part = pieces.take((kKeyChunk + kQueryBlock) * d());
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
    gather(k + kv_head * d(), keys, stride, rows_k),
        gather(v + kv_head * d(), keys, stride, rows_v);
    for (std::int64_t c = 0; c < chunks(keys); ++c) {
      const std::int64_t count = chunk_keys(c), from = c * kKeyChunk * d();
      transpose(rows_k + from, count, d(), d(), turned);
      Numerics::pack(turned, d(), count, 0, panels_of(count), k_packed + c * as_keys());
      transpose(rows_v + from, count, d(), d(), turned);
      Numerics::pack(turned, d(), count, 0, panels_of(count), v_packed + c * as_keys());
      Numerics::pack(rows_k + from, count, d(), 0, panels_of(d()), k_turned + c * as_inputs());
    }
    for (std::int64_t i = 0; i < keys * d(); ++i) sum_k[i] = sum_v[i] = 0.0F;
  }

  /// Row r of chunk c of scores or dscores: chunks lie one behind the other, [rows, keys of the
  /// chunk] each.
  float* row(float* of, std::int64_t c, std::int64_t rows, std::int64_t r) const {
    return of + c * kKeyChunk * rows + r * chunk_keys(c);
  }

  /// One row of S and dP becomes one of P and dS. Beyond `seen` keys both become 0.
  void softmax(std::int64_t rows, std::int64_t r, std::int64_t seen, std::int64_t all_chunks) {
    const Vec scale = splat(1.0F / __builtin_sqrtf(static_cast<float>(d())));
    const auto each = [&](const auto& visit) {
      for (std::int64_t c = 0; c < all_chunks; ++c) {
        float *s = row(scores, c, rows, r), *ds = row(dscores, c, rows, r);
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
        row(scores, c, rows, r)[j] = row(dscores, c, rows, r)[j] = 0.0F;
    }
  }

  /// Queries [first, first + rows) of one query head.
  void block(std::int64_t head, std::int64_t first, std::int64_t rows) {
    const std::int64_t stride = shape.q_heads * d(), at = (first * shape.q_heads + head) * d(),
                       before = keys - queries, seen_chunks = chunks(before + first + rows);
    gather(q + at, rows, stride, rows_q), gather(dout + at, rows, stride, rows_dout);
    Numerics::pack(rows_q, rows, d(), 0, panels_of(d()), q_turned),
        Numerics::pack(rows_dout, rows, d(), 0, panels_of(d()), dout_turned);
    for (std::int64_t c = 0; c < seen_chunks; ++c) {
      product(rows_q, rows, d(), k_packed + c * as_keys(), chunk_keys(c), row(scores, c, rows, 0));
      product(rows_dout, rows, d(), v_packed + c * as_keys(), chunk_keys(c),
              row(dscores, c, rows, 0));
    }
    for (std::int64_t r = 0; r < rows; ++r) softmax(rows, r, before + first + r + 1, seen_chunks);
    for (std::int64_t i = 0; i < rows * d(); ++i) sum_q[i] = 0.0F;
    for (std::int64_t c = 0; c < seen_chunks; ++c) {
      const std::int64_t count = chunk_keys(c), from = c * kKeyChunk * d();
      product(row(dscores, c, rows, 0), rows, count, k_turned + c * as_inputs(), d(), part),
          add(sum_q, part, rows * d());
      transpose(row(dscores, c, rows, 0), rows, count, count, columns);
      product(columns, count, rows, q_turned, d(), part), add(sum_k + from, part, count * d());
      transpose(row(scores, c, rows, 0), rows, count, count, columns);
      product(columns, count, rows, dout_turned, d(), part), add(sum_v + from, part, count * d());
    }
    scatter(sum_q, rows, stride, dq + at);
  }

  void heads(std::int64_t begin, std::int64_t end) {
    take_all();
    pieces = {context.operands.floats(static_cast<std::size_t>(pieces.used)), 0};
    take_all();
    for (std::int64_t kv_head = begin; kv_head < end; ++kv_head) {
      pack_keys(kv_head);
      for (std::int64_t head = kv_head * group(); head < (kv_head + 1) * group(); ++head)
        for (std::int64_t first = 0; first < queries; first += kQueryBlock)
          block(head, first, queries - first < kQueryBlock ? queries - first : kQueryBlock);
      scatter(sum_k, keys, shape.kv_heads * d(), dk + kv_head * d()),
          scatter(sum_v, keys, shape.kv_heads * d(), dv + kv_head * d());
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
