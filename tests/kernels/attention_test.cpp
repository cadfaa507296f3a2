// Attention: against the reference, prefill equal to decode bit for bit, and the backward against the reference and finite differences.
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
    std::vector<AttentionRow> keys;
    for (std::int64_t i = first; i < first + rows; ++i) keys.push_back({k.data(), v.data(), i + 1, kv_row()});
    ExecutionContext context;
    Floats out(static_cast<std::size_t>(rows * q_row()));
    set.attention(context, q.data() + first * q_row(), keys.data(), rows, shape, out.data());
    return out;
  }

  /// dq, dk, dv one after the other.
  Floats backward(const KernelSet& set) const {
    ExecutionContext context;
    Floats gradients(static_cast<std::size_t>(q_floats() + 2 * kv_floats()), 7.0F);
    float* dq = gradients.data();
    set.attention_backward(context, q.data(), k.data(), v.data(), dout.data(), t, shape, dq, dq + q_floats(), dq + q_floats() + kv_floats());
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
    return Sequence(*rc::gen::inRange(1, 40), {kv_heads * group, kv_heads, head_dim}, *rc::gen::arbitrary<unsigned>());
  });
}

TEST(Attention, AgreesWithReference) {
  for (const std::int64_t t : {1, 7, 16, 17, 33})
    for (const std::int64_t d : {1, 7, 16, 17, 32, 33, 64, 128}) {
      const Sequence s(t, {6, 2, d});
      for (const KernelSet* set : simd_sets()) {
        ASSERT_TRUE(near(s.forward(*set, 0, t), s.forward(reference_kernels(), 0, t), 3e-6)) << set->name << ' ' << t << ' ' << d;
        ASSERT_TRUE(near(s.backward(*set), s.backward(reference_kernels()), 1e-5)) << set->name << ' ' << t << ' ' << d;
      }
    }
}

TEST(Attention, SetsAreBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    const Sequence s = *sequences();
    for (const KernelSet* set : simd_sets()) {
      RC_ASSERT(same_bits(s.forward(*set, 0, s.t), s.forward(scalar_kernels(), 0, s.t)));
      RC_ASSERT(same_bits(s.backward(*set), s.backward(scalar_kernels())));
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

TEST(Attention, StrideOfTheCacheChangesNothing) {
  const Sequence s(21, {4, 2, 32});
  const std::int64_t wide = s.kv_row() + 5;  // a cache whose rows lie further apart
  Floats k(static_cast<std::size_t>(s.t * wide), NAN), v = k;
  for (std::int64_t j = 0; j < s.t; ++j)
    for (std::int64_t c = 0; c < s.kv_row(); ++c) k[j * wide + c] = s.k[j * s.kv_row() + c], v[j * wide + c] = s.v[j * s.kv_row() + c];
  for (const KernelSet* set : simd_sets()) {
    ExecutionContext context;
    Floats out(static_cast<std::size_t>(s.q_row()));
    const AttentionRow row{k.data(), v.data(), s.t, wide};
    set->attention(context, s.q.data() + (s.t - 1) * s.q_row(), &row, 1, s.shape, out.data());
    EXPECT_TRUE(same_bits(out, s.forward(*set, s.t - 1, 1))) << set->name;
  }
}

TEST(Attention, LargeScoresStayFinite) {
  const Sequence s(33, {2, 1, 32}, 5, 100.0F);  // scores of tens of thousands
  for (const KernelSet* set : simd_sets()) {
    // Scores about 5e4 carry an fp32 error of 5e-3, so probabilities of near ties may differ by as much.
    EXPECT_TRUE(near(s.forward(*set, 0, s.t), s.forward(reference_kernels(), 0, s.t), 2e-2)) << set->name;
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
