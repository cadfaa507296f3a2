// Attention on the device and its backward pass against plain loops; decode, prefill and training
// are one order; a micro-batch is its sequences.
#include "on_device.hpp"

#include <algorithm>
#include <tuple>

namespace rollcall::kernels {
namespace {

float rounded(float x) { return from_bf16(to_bf16(x)); }

/// One causal sequence in pages of the device, two layers a page of which the second is asked for.
struct PagedCase {
  std::int64_t t;
  HeadShape shape;
  Floats q, k, v;
  std::int64_t layer = cuda::page_bytes(shape);
  std::vector<OnDevice<std::byte>> pages{};
  std::vector<OnDevice<const void*>> table{};

  PagedCase(std::int64_t tokens, HeadShape heads, unsigned seed)
      : t(tokens),
        shape(heads),
        q(random_floats(t * heads.q_heads * heads.head_dim, seed)),
        k(random_floats(t * heads.kv_heads * heads.head_dim, seed + 1)),
        v(random_floats(t * heads.kv_heads * heads.head_dim, seed + 2)) {
    std::vector<const void*> places;
    for (std::int64_t p = 0; p < pages_of(t); ++p) {
      pages.emplace_back(2 * layer);  // holds garbage: a page needs no preparation
      places.push_back(pages.back());
    }
    table.emplace_back(places);
    ExecutionContext context;
    const OnDevice<float> on_k(k), on_v(v);
    const OnDevice<AttentionRow> positions(rows(0, t));
    cuda::store_positions(context, on_k, on_v, positions, t, shape, layer);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  std::vector<AttentionRow> rows(std::int64_t first, std::int64_t count) const {
    std::vector<AttentionRow> all;
    for (std::int64_t i = first; i < first + count; ++i) all.push_back({table.front(), i + 1});
    return all;
  }
  std::int64_t row() const { return shape.q_heads * shape.head_dim; }
  Floats run(std::int64_t first, std::int64_t count, std::int64_t begin = 0,
             std::int64_t end = -1) const {
    ExecutionContext context;
    const OnDevice<float> on_q(q.data() + first * row(), count * row()),
        out(Floats(std::size_t(count * row()), -3.0F));
    const OnDevice<AttentionRow> on_rows(rows(first, count));
    cuda::attention(context, on_q, on_rows, count, shape,
                    {layer, begin, end < 0 ? shape.kv_heads : end}, out);
    return out.values();
  }
  /// By the reference, on rounded operands.
  Floats expected(std::int64_t first, std::int64_t count) const {
    Floats rq = q, rk = k, rv = v;
    for (Floats* all : {&rq, &rk, &rv})
      for (float& x : *all) x = rounded(x);
    const Pages host(reference_kernels(), rk, rv, shape);
    std::vector<AttentionRow> keys;
    for (std::int64_t i = first; i < first + count; ++i) keys.push_back(host.row(i + 1));
    ExecutionContext context;
    Floats out(std::size_t(count * row()));
    reference_kernels().attention(context, rq.data() + first * row(), keys.data(), count, shape,
                                  {0, 0, shape.kv_heads}, out.data());
    return out;
  }
};

TEST(DeviceAttention, AgreesWithReference) {
  for (const auto& [t, q_heads, kv_heads, d] :
       std::vector<std::tuple<int, int, int, int>>{{1, 1, 1, 1},
                                                   {17, 6, 2, 7},
                                                   {66, 4, 2, 32},
                                                   {12, 20, 2, 64},
                                                   {70, 2, 1, 128},
                                                   {5, 2, 2, 200}}) {
    const PagedCase c(t, {q_heads, kv_heads, d}, 3);
    // Weights are rounded to bf16, each by at most 2^-9 of itself: so is their weighted mean of
    // values of up to about 4.
    EXPECT_TRUE(near(c.run(0, t), c.expected(0, t), 1e-2)) << t << ' ' << d;
  }
}

TEST(DeviceAttention, LongContextsAgreeAndDecodeEqualsPrefill) {
  const PagedCase c(1100, {2, 1, 16}, 4);
  const Floats some = c.run(1020, 8);
  EXPECT_TRUE(near(some, c.expected(1020, 8), 1e-2));
  for (const std::int64_t i : {0, 3, 4, 7})
    EXPECT_TRUE(
        same_bits(c.run(1020 + i, 1), Floats(some.begin() + i * 32, some.begin() + (i + 1) * 32)))
        << i;
}

TEST(DeviceAttention, HeadsInPartsChangeNothing) {
  const PagedCase c(20, {6, 3, 16}, 9);
  const Floats whole = c.run(0, 20), first = c.run(0, 20, 0, 1), rest = c.run(0, 20, 1, 3);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool of_first = i % 96 < 32;
    ASSERT_EQ(first[i], of_first ? whole[i] : -3.0F);
    ASSERT_EQ(rest[i], of_first ? -3.0F : whole[i]);
  }
}

/// dq, dk, dv one after the other.
Floats backward(const KernelSet* host, const std::vector<Floats>& of, std::int64_t queries,
                std::int64_t keys, HeadShape shape) {
  const std::int64_t wide = queries * shape.q_heads * shape.head_dim,
                     narrow = keys * shape.kv_heads * shape.head_dim;
  ExecutionContext context;
  Floats all(std::size_t(wide + 2 * narrow));
  if (host != nullptr) {
    host->attention_backward(context, of[0].data(), of[1].data(), of[2].data(), of[3].data(),
                             queries, keys, shape, 0, shape.kv_heads, all.data(), all.data() + wide,
                             all.data() + wide + narrow);
    return all;
  }
  const OnDevice<float> q(of[0]), k(of[1]), v(of[2]), dout(of[3]), gradients(all);
  attention_backward(context, q, k, v, dout, queries, keys, shape, gradients, gradients + wide,
                     gradients + wide + narrow);
  return gradients.values();
}

/// Operands are rounded to bf16 as the reference's are here; P and dS are rounded too, each by 2^-9
/// of itself.
TEST(DeviceAttention, BackwardAgreesWithReference) {
  for (const auto& [queries, t, q_heads, kv_heads, d] :
       std::vector<std::tuple<int, int, int, int, int>>{
           {6, 9, 4, 2, 10}, {70, 130, 2, 1, 16}, {66, 66, 3, 3, 1}, {5, 70, 2, 1, 144}}) {
    const HeadShape shape{q_heads, kv_heads, d};
    std::vector<Floats> of{random_floats(queries * q_heads * d, 1),
                           random_floats(t * kv_heads * d, 2), random_floats(t * kv_heads * d, 3),
                           random_floats(queries * q_heads * d, 4)};
    const Floats got = backward(nullptr, of, queries, t, shape);
    for (Floats& values : of)
      for (float& x : values) x = rounded(x);
    EXPECT_TRUE(near(got, backward(&reference_kernels(), of, queries, t, shape), 2e-2))
        << queries << ' ' << t << ' ' << d;
  }
}

/// A micro-batch of a beginning, a prompt that continues it, a sequence beside the prompt, one of
/// its own, an answer, and two that continue that: each as alone, bit for bit, but for keys that
/// others see, whose gradient is the sum over all who do.
TEST(DeviceAttention, BackwardOverAMicroBatchIsThatOfItsSequences) {
  const HeadShape shape{4, 2, 16};
  const std::int64_t wide = 64, narrow = 32, n = 70 + 66 + 5 + 130 + 40 + 1 + 67;
  const std::vector<cuda::AttentionSequence> sequences{
      {-1, 0, 0, 70},    {0, 70, 70, 66},  {0, 70, 136, 5},  {-1, 0, 141, 130},
      {1, 136, 271, 40}, {4, 176, 311, 1}, {4, 176, 312, 67}};
  const std::vector<Floats> of{random_floats(n * wide, 1), random_floats(n * narrow, 2),
                               random_floats(n * narrow, 3), random_floats(n * wide, 4)};
  const TilesOnDevice tiles(sequences);
  const OnDevice<float> q(of[0]), k(of[1]), v(of[2]), dout(of[3]), dq(n * wide), dk(n * narrow),
      dv(n * narrow);
  ExecutionContext context;
  cuda::attention_backward(context, q, k, v, dout, n, shape, tiles, dq, dk, dv);
  const Floats all[] = {dq.values(), dk.values(), dv.values()};
  const auto cut = [](const Floats& from, std::int64_t first, std::int64_t count,
                      std::int64_t width) {
    return Floats(from.begin() + first * width, from.begin() + (first + count) * width);
  };
  Floats sum[] = {Floats(std::size_t(n * narrow)), Floats(std::size_t(n * narrow))};
  for (const cuda::AttentionSequence& s : sequences) {
    std::vector<std::int64_t> rows;  // that it sees
    for (const auto* part = &s; part != nullptr;
         part = part->parent < 0 ? nullptr : &sequences[std::size_t(part->parent)])
      for (std::int64_t i = 0; i < part->rows; ++i) rows.insert(rows.begin() + i, part->begin + i);
    const auto in_order = [&](const Floats& from) {
      Floats made;
      for (const std::int64_t row : rows)
        made.insert(made.end(), from.begin() + row * narrow, from.begin() + (row + 1) * narrow);
      return made;
    };
    const auto length = std::int64_t(rows.size());
    const Floats alone = backward(nullptr,
                                  {cut(of[0], s.begin, s.rows, wide), in_order(of[1]),
                                   in_order(of[2]), cut(of[3], s.begin, s.rows, wide)},
                                  s.rows, length, shape);
    EXPECT_TRUE(same_bits(cut(alone, 0, s.rows, wide), cut(all[0], s.begin, s.rows, wide)))
        << s.begin;
    const auto index = &s - sequences.data();
    const bool seen_by_others =
        std::any_of(sequences.begin(), sequences.end(),
                    [&](const auto& other) { return other.parent == index; });
    for (std::int64_t side = 0; side < 2; ++side) {
      const Floats keys = cut(alone, s.rows * wide / narrow + side * length, length, narrow);
      if (!seen_by_others) {
        EXPECT_TRUE(same_bits(cut(keys, s.before, s.rows, narrow),
                              cut(all[1 + side], s.begin, s.rows, narrow)))
            << s.begin;
      }
      for (std::int64_t i = 0; i < length; ++i)
        for (std::int64_t c = 0; c < narrow; ++c)
          sum[side][std::size_t(rows[std::size_t(i)] * narrow + c)] +=
              keys[std::size_t(i * narrow + c)];
    }
  }
  for (int side = 0; side < 2; ++side) EXPECT_TRUE(near(sum[side], all[1 + side], 1e-5));
}

TEST(DeviceAttention, WhatASequenceContinuesStandsBeforeIt) {
  for (const auto& broken :
       std::vector<std::vector<cuda::AttentionSequence>>{{{0, 0, 0, 4}},
                                                         {{1, 3, 0, 4}, {-1, 0, 4, 3}},
                                                         {{-1, 0, 0, 4}, {0, 3, 4, 2}},
                                                         {{-1, 1, 0, 4}}})
    EXPECT_THROW(cuda::attention_tiles(broken), std::invalid_argument);
}

}  // namespace
}  // namespace rollcall::kernels
