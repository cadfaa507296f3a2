// Attention: against the reference, prefill equal to decode bit for bit, and the backward against
// the reference and finite differences.
#include "operands.hpp"

#include <rapidcheck.h>

namespace rollcall::kernels {
namespace {

/// One causal sequence: q [t,q_heads,d], k and v [t,kv_heads,d].
struct Sequence {
  std::int64_t t;
  HeadShape shape;
  Floats q, k, v, dout;

  Sequence(std::int64_t tokens, HeadShape heads, unsigned seed = 1, float spread = 1.0F)
      : t(tokens),
        shape(heads),
        q(random_floats(q_floats(), seed, spread)),
        k(random_floats(kv_floats(), seed + 1, spread)),
        v(random_floats(kv_floats(), seed + 2)),
        dout(random_floats(q_floats(), seed + 3)) {}

  std::int64_t q_row() const { return shape.q_heads * shape.head_dim; }
  std::int64_t kv_row() const { return shape.kv_heads * shape.head_dim; }
  std::int64_t q_floats() const { return t * q_row(); }
  std::int64_t kv_floats() const { return t * kv_row(); }

  Floats forward(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    const Pages pages(set, k, v, shape);
    std::vector<AttentionRow> keys;
    for (std::int64_t i = first; i < first + rows; ++i) keys.push_back(pages.row(i + 1));
    ExecutionContext context;
    Floats out(static_cast<std::size_t>(rows * q_row()));
    set.attention(context, q.data() + first * q_row(), keys.data(), rows, shape,
                  {0, 0, shape.kv_heads}, out.data());
    return out;
  }

  /// dq, dk, dv one after the other.
  Floats backward(const KernelSet& set) const {
    ExecutionContext context;
    Floats gradients(static_cast<std::size_t>(q_floats() + 2 * kv_floats()), 7.0F);
    float* dq = gradients.data();
    set.attention_backward(context, q.data(), k.data(), v.data(), dout.data(), t, t, shape, 0,
                           shape.kv_heads, dq, dq + q_floats(), dq + q_floats() + kv_floats());
    return gradients;
  }

  /// Sum of out * dout by the reference.
  double loss() const {
    const Floats out = forward(reference_kernels(), 0, t);
    double sum = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * dout[i];
    return sum;
  }
};

rc::Gen<Sequence> sequences() {
  return rc::gen::exec([] {
    const std::int64_t kv_heads = *rc::gen::inRange(1, 4), group = *rc::gen::inRange(1, 4);
    const std::int64_t head_dim = *rc::gen::element<std::int64_t>(1, 2, 7, 16, 18, 32, 33, 64);
    return Sequence(*rc::gen::inRange(1, 40), {kv_heads * group, kv_heads, head_dim},
                    *rc::gen::arbitrary<unsigned>());
  });
}

TEST(Attention, AgreesWithReference) {
  for (const std::int64_t t : {1, 7, 16, 17, 33})
    for (const std::int64_t d : {1, 7, 16, 17, 32, 33, 64, 128}) {
      const Sequence s(t, {6, 2, d});
      for (const KernelSet* set : simd_sets()) {
        ASSERT_TRUE(near(s.forward(*set, 0, t), s.forward(reference_kernels(), 0, t), 3e-6))
            << set->name << ' ' << t << ' ' << d;
        ASSERT_TRUE(near(s.backward(*set), s.backward(reference_kernels()), 1e-5))
            << set->name << ' ' << t << ' ' << d;
      }
    }
}

/// The last queries of a sequence, and some heads at a time, are what the whole gives; other heads
/// are left alone. Long enough for several chunks of keys.
TEST(Attention, BackwardOfAPart) {
  for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
    const KernelSet& set = *kernels_by_name("scalar", numerics);
    for (const std::int64_t t : {20, 300}) {
      Sequence s(t, {6, 3, 16});
      const std::int64_t before = t / 3, queries = t - before, wide = 6 * 16;
      std::fill_n(s.dout.begin(), before * wide, 0.0F);
      const Floats whole = s.backward(set), truth = s.backward(reference_kernels());
      EXPECT_TRUE(near(whole, truth, numerics == std::string_view(kFp32FixedOrder) ? 1e-5 : 3e-2))
          << numerics;
      ExecutionContext context;
      Floats part(whole.size(), 7.0F);
      float *dq = part.data(), *dk = dq + s.q_floats(), *dv = dk + s.kv_floats();
      const auto run = [&](std::int64_t begin, std::int64_t end) {
        set.attention_backward(context, s.q.data() + before * wide, s.k.data(), s.v.data(),
                               s.dout.data() + before * wide, queries, t, s.shape, begin, end,
                               dq + before * wide, dk, dv);
      };
      run(1, 2);
      EXPECT_EQ(dk[0], 7.0F);
      EXPECT_NEAR(dk[16], whole[std::size_t(s.q_floats()) + 16], 1e-2);
      run(0, 1), run(2, 3);
      // Queries are cut into blocks from the first one asked for, so sums over them round
      // differently.
      EXPECT_TRUE(near(Floats(part.begin() + before * wide, part.end()),
                       Floats(whole.begin() + before * wide, whole.end()), 1e-2))
          << numerics << " " << t;
    }
  }
}

TEST(Attention, SetsAreBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    const Sequence s = *sequences();
    for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
      const KernelSet& scalar = *kernels_by_name("scalar", numerics);
      for (const KernelSet* set : sets_of(numerics)) {
        RC_ASSERT(same_bits(s.forward(*set, 0, s.t), s.forward(scalar, 0, s.t)));
        RC_ASSERT(same_bits(s.backward(*set), s.backward(scalar)));
      }
    }
  }));
}

TEST(Attention, DecodeEqualsPrefill) {
  EXPECT_TRUE(rc::check([] {
    const Sequence s = *sequences();
    for (const KernelSet* set : simd_sets()) {
      const Floats prefill = s.forward(*set, 0, s.t);
      Floats decode;
      for (std::int64_t i = 0; i < s.t; ++i) {
        const Floats row = s.forward(*set, i, 1);
        decode.insert(decode.end(), row.begin(), row.end());
      }
      RC_ASSERT(same_bits(prefill, decode));
    }
  }));
}

/// Rows of sequences that begin alike, some in the same pages and some in copies, against each row
/// alone. What follows is each one's own, and what others hold of what they say to be alike may be
/// anything where the block of rows reads it from its first.
TEST(Attention, RowsThatBeginAlikeAreComputedTogetherWithTheSameBits) {
  EXPECT_TRUE(rc::check([] {
    const auto numerics = *rc::gen::element(kFp32FixedOrder, kBf16Sliced8);
    const std::int64_t kv_heads = *rc::gen::element(1, 2),
                       group = *rc::gen::element(1, 2, 3, 4, 9, 18),
                       head_dim = *rc::gen::element<std::int64_t>(7, 16, 33, 64);
    const HeadShape shape{kv_heads * group, kv_heads, head_dim};
    const std::int64_t width = kv_heads * head_dim, q_row = group * width,
                       members = *rc::gen::element(2, 3, 5, 7);
    const std::int64_t length = *rc::gen::element<std::int64_t>(70, 150, 1100);
    // spoilt: one block
    const bool by_reference = *rc::gen::arbitrary<bool>(),
               spoilt = group * members <= 16 && *rc::gen::arbitrary<bool>();
    std::vector<std::int64_t> said{0};  // alike with the row before
    for (std::int64_t m = 1; m < members; ++m)
      said.push_back(*rc::gen::element<std::int64_t>(0, 20, 32, 33, 63, 64, 65, 97, 128, 1060));
    for (std::int64_t& positions : said) positions = std::min(positions, length - 2);
    const std::int64_t least = *std::min_element(said.begin() + 1, said.end());
    for (const KernelSet* set : sets_of(numerics)) {
      std::vector<Pages> own, true_own;
      std::vector<std::vector<const void*>> tables;
      std::vector<AttentionRow> rows, apart;
      own.reserve(std::size_t(members)), true_own.reserve(own.capacity()),
          tables.reserve(own.capacity());
      Floats k, v;
      for (std::int64_t m = 0; m < members; ++m) {
        const std::int64_t begin = said[std::size_t(m)] * width,
                           tail = length - said[std::size_t(m)];
        k.resize(std::size_t(begin)), v.resize(k.size());
        for (float x : random_floats(tail * width, unsigned(3 + m)))
          k.push_back(x), v.push_back(x + 1);
        true_own.emplace_back(*set, k, v, shape);
        Floats spoilt_k = k, spoilt_v = v;
        const std::int64_t unread = spoilt && m > 0 ? least / 32 * 32 * width : 0;
        std::fill_n(spoilt_k.begin(), unread, 50.0F), std::fill_n(spoilt_v.begin(), unread, -50.0F);
        own.emplace_back(*set, spoilt_k, spoilt_v, shape);
        tables.push_back(own.back().table());
        if (by_reference && m > 0)
          std::copy_n(tables[std::size_t(m - 1)].begin(), said[std::size_t(m)] / kPageKeys,
                      tables.back().begin());
        const std::int64_t fewest = std::max(length - (1 + m % 3) * 31, said[std::size_t(m)] + 1);
        for (std::int64_t keys = spoilt ? length : fewest; keys <= length; keys += 31) {
          rows.push_back({tables.back().data(), keys, said[std::size_t(m)]});
          apart.push_back(true_own.back().row(keys));
        }
      }
      const auto count = std::int64_t(rows.size());
      const Floats q = random_floats(count * q_row, 9);
      ExecutionContext context;
      Floats together(q.size()), alone(q.size());
      set->attention(context, q.data(), rows.data(), count, shape, {0, 0, kv_heads},
                     together.data());
      for (std::int64_t i = 0; i < count; ++i)
        set->attention(context, q.data() + i * q_row, &apart[std::size_t(i)], 1, shape,
                       {0, 0, kv_heads}, alone.data() + i * q_row);
      RC_ASSERT(same_bits(together, alone));
    }
  }));
}

/// Heads in parts, as threads share them out, from pages in which another layer stands first; a
/// page of which a copy holds the beginning.
TEST(Attention, PartsOffsetsAndCopiesChangeNothing) {
  EXPECT_TRUE(rc::check([] {
    const auto numerics = *rc::gen::element(kFp32FixedOrder, kBf16Sliced8);
    const Sequence s = *sequences();
    const std::int64_t width = s.kv_row(), kept = *rc::gen::inRange<std::int64_t>(0, s.t + 1),
                       head = *rc::gen::inRange<std::int64_t>(0, s.shape.kv_heads + 1);
    for (const KernelSet* set : sets_of(numerics)) {
      const std::int64_t bytes = set->page_bytes(s.shape);
      const Pages whole(*set, s.k, s.v, s.shape);
      std::vector<double> layers(static_cast<std::size_t>(bytes / 4), std::nan(""));  // two of them
      auto* second = reinterpret_cast<std::byte*>(layers.data()) + bytes;
      set->copy_positions(whole.table().front(), s.shape, kept, second);
      for (std::int64_t j = kept; j < s.t; ++j)
        set->store_position(s.k.data() + j * width, s.v.data() + j * width, s.shape, j, second);
      const void* table = layers.data();
      std::vector<AttentionRow> rows;
      for (std::int64_t i = 0; i < s.t; ++i) rows.push_back({&table, i + 1});
      ExecutionContext context;
      Floats out(s.q.size(), -3.0F);
      set->attention(context, s.q.data(), rows.data(), s.t, s.shape, {bytes, 0, head}, out.data());
      if (head < s.shape.kv_heads) RC_ASSERT(out.back() == -3.0F);
      set->attention(context, s.q.data(), rows.data(), s.t, s.shape,
                     {bytes, head, s.shape.kv_heads}, out.data());
      RC_ASSERT(same_bits(out, s.forward(*set, 0, s.t)));
    }
  }));
}

/// More keys than one split, more than one page, all sets: the same bits, near the reference.
TEST(Attention, LongContextsAgree) {
  const Sequence s(1100, {2, 1, 16}, 4);
  const Floats expected = s.forward(reference_kernels(), 1000, 100);
  for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
    const Floats plain = s.forward(*sets_of(numerics).front(), 1000, 100);
    EXPECT_TRUE(near(plain, expected, std::string(numerics) == kFp32FixedOrder ? 3e-6 : 2e-2));
    for (const KernelSet* set : sets_of(numerics)) {
      EXPECT_TRUE(same_bits(s.forward(*set, 1000, 100), plain)) << set->name;
      EXPECT_TRUE(same_bits(s.forward(*set, 1050, 1),
                            Floats(plain.begin() + 50 * 32, plain.begin() + 51 * 32)))
          << set->name;
    }
  }
}

TEST(Attention, Bf16SetsAreBitIdenticalAndNearTheReference) {
  EXPECT_TRUE(rc::check([] {
    const Sequence s = *sequences();
    const Floats plain = s.forward(*sets_of(kBf16Sliced8).front(), 0, s.t);
    RC_ASSERT(near(plain, s.forward(reference_kernels(), 0, s.t), 0.1));
    for (const KernelSet* set : sets_of(kBf16Sliced8)) {
      RC_ASSERT(same_bits(s.forward(*set, 0, s.t), plain));
      RC_ASSERT(
          same_bits(s.forward(*set, s.t - 1, 1), Floats(plain.end() - s.q_row(), plain.end())));
    }
  }));
}

TEST(Attention, LargeScoresStayFinite) {
  const Sequence s(33, {2, 1, 32}, 5, 100.0F);  // scores of tens of thousands
  for (const KernelSet* set : simd_sets()) {
    // Scores about 5e4 carry an fp32 error of 5e-3, so probabilities of near ties may differ by as
    // much.
    EXPECT_TRUE(near(s.forward(*set, 0, s.t), s.forward(reference_kernels(), 0, s.t), 2e-2))
        << set->name;
    for (const float value : s.backward(*set)) ASSERT_TRUE(std::isfinite(value)) << set->name;
  }
}

TEST(Attention, ReferenceBackwardIsTheDerivative) {
  Sequence s(5, {4, 2, 6});
  const Floats gradient = s.backward(reference_kernels());
  std::size_t at = 0;
  for (Floats* operand : {&s.q, &s.k, &s.v})
    for (float& value : *operand) {
      const float kept = value, step = 1e-2F;
      value = kept + step;
      const double up = s.loss();
      value = kept - step;
      const double down = s.loss();
      value = kept;
      // Central difference: error step^2 in theory, 1e-7 / step from fp32 outputs.
      ASSERT_NEAR(gradient[at], (up - down) / (2.0 * step), 2e-3) << at;
      ++at;
    }
}

}  // namespace
}  // namespace rollcall::kernels
