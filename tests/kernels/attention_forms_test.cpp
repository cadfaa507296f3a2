// Attention with a scale, a cap, a window and sinks: against double loops and their derivatives,
// the bits of plain attention where the form is plain, decode equal to prefill, and the same bits
// on every set.
#include "kernels/module_kernels.hpp"
#include "operands.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <string_view>

namespace rollcall::kernels {
namespace {

using Doubles = std::vector<double>;

/// The operands of a causal sequence: q [t,q_heads,d], k and v [t,kv_heads,d], sinks [q_heads].
struct Operands {
  Doubles q, k, v, sinks;
};

/// Attention by plain loops in double precision, and the sum of its outputs times dout.
struct Loops {
  std::int64_t t;
  HeadShape shape;
  AttentionForm form;  ///< its sinks only say whether there are some

  Doubles outputs(const Operands& o) const {
    const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads;
    Doubles out(o.q.size());
    for (std::int64_t i = 0; i < t; ++i)
      for (std::int64_t h = 0; h < shape.q_heads; ++h) {
        Doubles e(std::size_t(t), 0.0);
        double mass = form.sinks ? std::exp(o.sinks[std::size_t(h)]) : 0.0;
        for (std::int64_t j = 0; j <= i; ++j) {
          if (form.window > 0 && i - j >= form.window) continue;
          double score = 0.0;
          for (std::int64_t c = 0; c < d; ++c)
            score += o.q[std::size_t((i * shape.q_heads + h) * d + c)] *
                     o.k[std::size_t((j * shape.kv_heads + h / group) * d + c)];
          score *= form.scale > 0 ? form.scale : 1.0 / std::sqrt(double(d));
          if (form.cap > 0) score = form.cap * std::tanh(score / form.cap);
          mass += e[std::size_t(j)] = std::exp(score);
        }
        for (std::int64_t j = 0; j <= i; ++j)
          for (std::int64_t c = 0; c < d; ++c)
            out[std::size_t((i * shape.q_heads + h) * d + c)] +=
                e[std::size_t(j)] / mass *
                o.v[std::size_t((j * shape.kv_heads + h / group) * d + c)];
      }
    return out;
  }
  double loss(const Operands& o, const Floats& dout) const {
    const Doubles out = outputs(o);
    double sum = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
    return sum;
  }
};

/// Scratch memory holds anything before a call.
void spoil(ExecutionContext& context) {
  constexpr std::size_t kFloats = 1U << 16U;
  for (Workspace* workspace : {&context.workspace, &context.operands})
    std::fill_n(workspace->floats(kFloats), kFloats, std::nanf(""));
}

struct FormCase {
  std::int64_t t;
  HeadShape shape;
  AttentionForm form;
  Floats q, k, v, dout, sinks;

  FormCase(std::int64_t tokens, HeadShape heads, AttentionForm given, bool with_sinks,
           unsigned seed = 1)
      : t(tokens),
        shape(heads),
        form(given),
        q(random_floats(t * q_row(), seed)),
        k(random_floats(t * kv_row(), seed + 1)),
        v(random_floats(t * kv_row(), seed + 2)),
        dout(random_floats(t * q_row(), seed + 3)),
        sinks(random_floats(heads.q_heads, seed + 4)) {
    if (with_sinks) form.sinks = sinks.data();
  }
  FormCase(const FormCase&) = delete;  // the form points to the sinks

  std::int64_t q_row() const { return shape.q_heads * shape.head_dim; }
  std::int64_t kv_row() const { return shape.kv_heads * shape.head_dim; }

  Floats forward(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    const Pages pages(set, k, v, shape);
    std::vector<AttentionRow> keys;
    for (std::int64_t i = first; i < first + rows; ++i) keys.push_back(pages.row(i + 1));
    ExecutionContext context;
    spoil(context);
    Floats out(static_cast<std::size_t>(rows * q_row()));
    module_kernels(set).attention(context, q.data() + first * q_row(), keys.data(), rows, shape,
                                  {0, 0, shape.kv_heads}, form, out.data());
    return out;
  }
  /// dq, dk, dv and dsinks of the last `queries` queries.
  Floats backward(const KernelSet& set, std::int64_t queries) const {
    ExecutionContext context;
    spoil(context);
    Floats gradients(static_cast<std::size_t>(queries * q_row() + 2 * t * kv_row()), 7.0F);
    Floats dsinks(static_cast<std::size_t>(shape.q_heads), form.sinks ? 7.0F : 0.0F);
    float *dq = gradients.data(), *dk = dq + queries * q_row();
    const std::int64_t from = (t - queries) * q_row();
    module_kernels(set).attention_backward(context, q.data() + from, k.data(), v.data(),
                                           dout.data() + from, queries, t, shape, 0, shape.kv_heads,
                                           form, dq, dk, dk + t * kv_row(), dsinks.data());
    gradients.insert(gradients.end(), dsinks.begin(), dsinks.end());
    return gradients;
  }
  Operands operands() const {
    const auto wide = [](const Floats& x) { return Doubles(x.begin(), x.end()); };
    return {wide(q), wide(k), wide(v), wide(sinks)};
  }
  /// Rows [first, first + rows) by plain loops.
  Floats loops(std::int64_t first, std::int64_t rows) const {
    const Doubles out = Loops{t, shape, form}.outputs(operands());
    return Floats(out.begin() + first * q_row(), out.begin() + (first + rows) * q_row());
  }
};

double tolerance(const KernelSet& set) {
  return set.numerics == std::string_view(kBf16Sliced8) ? 5e-2 : 5e-6;
}

/// Windows below, at and above a page and a split of 1,024 keys, with sinks; the last rows of a
/// long sequence.
TEST(AttentionForms, WindowsAtTheEdgesOfPagesAndSplits) {
  constexpr std::int64_t kTokens = 1160, kFirst = 1080, kRows = 80;
  for (const std::int64_t window : {1, 2, 15, 63, 64, 65, 1023, 1024, 1025, 1152, 2000}) {
    const FormCase c(kTokens, {2, 1, 8}, {0, 0, window}, true);
    const Floats truth = c.loops(kFirst, kRows);
    for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
      const Floats plain = c.forward(*sets_of(numerics).front(), kFirst, kRows);
      for (const KernelSet* set : sets_of(numerics)) {
        EXPECT_TRUE(near(plain, truth, tolerance(*set))) << set->name << ' ' << window;
        EXPECT_TRUE(same_bits(c.forward(*set, kFirst, kRows), plain)) << set->name << ' ' << window;
        for (const std::int64_t row : {kFirst, kFirst + 7, kTokens - 1})
          EXPECT_TRUE(same_bits(c.forward(*set, row, 1),
                                Floats(plain.begin() + (row - kFirst) * c.q_row(),
                                       plain.begin() + (row - kFirst + 1) * c.q_row())))
              << set->name << ' ' << window << " row " << row;
      }
    }
    EXPECT_TRUE(near(c.forward(reference_kernels(), kFirst, kRows), truth, 1e-6)) << window;
  }
}

/// A window that holds all keys, and no form at all, are the attention of the first table.
TEST(AttentionForms, APlainFormHasTheBitsOfPlainAttention) {
  for (const std::int64_t t : {33, 300, 1100})
    for (const std::int64_t window : {std::int64_t(0), t, std::int64_t(4096)}) {
      const FormCase c(t, {4, 2, 18}, {0, 0, window}, false);
      EXPECT_EQ(c.form.plain(), window == 0);
      const std::int64_t first = std::max<std::int64_t>(0, t - 40), rows = t - first;
      for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8})
        for (const KernelSet* set : sets_of(numerics)) {
          const Pages pages(*set, c.k, c.v, c.shape);
          std::vector<AttentionRow> keys;
          for (std::int64_t i = first; i < t; ++i) keys.push_back(pages.row(i + 1));
          ExecutionContext context;
          Floats out(static_cast<std::size_t>(rows * c.q_row()));
          set->attention(context, c.q.data() + first * c.q_row(), keys.data(), rows, c.shape,
                         {0, 0, c.shape.kv_heads}, out.data());
          EXPECT_TRUE(same_bits(c.forward(*set, first, rows), out)) << set->name << ' ' << window;
          if (t > 1024) continue;  // the backward pass has no splits
          Floats gradients(static_cast<std::size_t>(rows * c.q_row() + 2 * t * c.kv_row()));
          float *dq = gradients.data(), *dk = dq + rows * c.q_row();
          set->attention_backward(context, c.q.data() + first * c.q_row(), c.k.data(), c.v.data(),
                                  c.dout.data() + first * c.q_row(), rows, t, c.shape, 0,
                                  c.shape.kv_heads, dq, dk, dk + t * c.kv_row());
          gradients.resize(gradients.size() + std::size_t(c.shape.q_heads));
          EXPECT_TRUE(same_bits(c.backward(*set, rows), gradients)) << set->name << ' ' << window;
        }
    }
}

std::vector<AttentionForm> forms() {
  std::vector<AttentionForm> list;
  for (const float scale : {0.0F, 0.3F})
    for (const float cap : {0.0F, 2.0F})
      for (const std::int64_t window : {0, 1, 5, 64}) list.push_back({scale, cap, window});
  return list;
}

TEST(AttentionForms, AgreeWithLoops) {
  for (const std::int64_t t : {1, 17, 90})
    for (const AttentionForm& form : forms())
      for (const bool with_sinks : {false, true}) {
        const FormCase c(t, {6, 2, 17}, form, with_sinks);
        const Floats truth = c.loops(0, t);
        ASSERT_TRUE(near(c.forward(reference_kernels(), 0, t), truth, 1e-6));
        for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8})
          for (const KernelSet* set : sets_of(numerics))
            ASSERT_TRUE(near(c.forward(*set, 0, t), truth, tolerance(*set)))
                << set->name << ' ' << t << " scale " << form.scale << " cap " << form.cap
                << " window " << form.window << " sinks " << with_sinks;
      }
}

rc::Gen<AttentionForm> any_form() {
  return rc::gen::exec([] {
    return AttentionForm{*rc::gen::element(0.0F, 0.25F), *rc::gen::element(0.0F, 3.0F),
                         *rc::gen::element<std::int64_t>(0, 1, 3, 16, 63, 64, 65, 100)};
  });
}

TEST(AttentionForms, SetsAreBitIdenticalAndDecodeEqualsPrefill) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t kv_heads = *rc::gen::inRange(1, 3), group = *rc::gen::inRange(1, 4),
                       t = *rc::gen::element<std::int64_t>(1, 20, 70, 130);
    const FormCase c(
        t, {kv_heads * group, kv_heads, *rc::gen::element<std::int64_t>(1, 7, 16, 18, 33)},
        *any_form(), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<unsigned>());
    const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, t),
                       row = *rc::gen::inRange(first, t);
    for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
      const KernelSet& scalar = *kernels_by_name("scalar", numerics);
      const Floats out = c.forward(scalar, first, t - first),
                   gradients = c.backward(scalar, t - first);
      for (const KernelSet* set : sets_of(numerics)) {
        RC_ASSERT(same_bits(c.forward(*set, first, t - first), out));
        RC_ASSERT(same_bits(c.forward(*set, row, 1),
                            Floats(out.begin() + (row - first) * c.q_row(),
                                   out.begin() + (row - first + 1) * c.q_row())));
        RC_ASSERT(same_bits(c.backward(*set, t - first), gradients));
      }
    }
  }));
}

/// Rows of sequences that begin alike in pages of their own, in one call and one by one. What a row
/// reads together with others begins only where all of them have begun.
TEST(AttentionForms, RowsThatBeginAlikeHaveTheBitsOfRowsAlone) {
  EXPECT_TRUE(rc::check([] {
    const auto numerics = *rc::gen::element(kFp32FixedOrder, kBf16Sliced8);
    const HeadShape shape{2, 1, 16};
    const std::int64_t length = *rc::gen::element<std::int64_t>(150, 1200),
                       alike = *rc::gen::element<std::int64_t>(33, 64, 100, 140);
    const Floats sinks = random_floats(shape.q_heads, 5);
    AttentionForm form = *any_form();
    form.window = *rc::gen::element<std::int64_t>(0, 20, 64, 90, 1030);
    form.sinks = *rc::gen::arbitrary<bool>() ? sinks.data() : nullptr;
    for (const KernelSet* set : sets_of(numerics)) {
      std::vector<Pages> own;
      own.reserve(4);
      std::vector<AttentionRow> rows;
      Floats k = random_floats(alike * shape.head_dim, 1), v = k;
      for (unsigned m = 0; m < 4; ++m) {
        k.resize(std::size_t(alike * shape.head_dim)), v.resize(k.size());
        for (const float x : random_floats((length - alike) * shape.head_dim, 7 + m))
          k.push_back(x), v.push_back(x + 1.0F);
        own.emplace_back(*set, k, v, shape);
        for (const std::int64_t keys : {length - 70, length - 1, length}) {
          rows.push_back(own.back().row(keys));
          rows.back().alike = m > 0 ? std::min(alike, keys) : 0;
        }
      }
      const auto count = std::int64_t(rows.size()), width = shape.q_heads * shape.head_dim;
      const Floats q = random_floats(count * width, 9);
      ExecutionContext context;
      Floats together(q.size()), alone(q.size());
      const AttentionPart all{0, 0, shape.kv_heads};
      const ModuleKernels& modules = module_kernels(*set);
      modules.attention(context, q.data(), rows.data(), count, shape, all, form, together.data());
      for (std::int64_t i = 0; i < count; ++i)
        modules.attention(context, q.data() + i * width, &rows[std::size_t(i)], 1, shape, all, form,
                          alone.data() + i * width);
      RC_ASSERT(same_bits(together, alone));
    }
  }));
}

/// With one key of score 0, a sink of 0 takes half of the mass, one of ln 3 three quarters, and one
/// far below all scores nothing.
TEST(AttentionForms, SinksByHand) {
  const HeadShape shape{4, 1, 2};
  const Floats q(8), k{1, 2}, v{8, -4};
  const Floats sinks{0.0F, std::log(3.0F), -1000.0F, 1000.0F};
  AttentionForm form;
  form.sinks = sinks.data();
  for (const KernelSet* set : every_set()) {
    const Pages pages(*set, k, v, shape);
    const AttentionRow row = pages.row(1);
    ExecutionContext context;
    Floats out(8);
    module_kernels(*set).attention(context, q.data(), &row, 1, shape, {0, 0, 1}, form, out.data());
    EXPECT_TRUE(near(out, {4, -2, 2, -1, 8, -4, 0, 0}, 1e-6)) << set->name;
  }
}

/// A sink far above all scores takes the whole mass, so that nothing flows back.
TEST(AttentionForms, ALargeSinkLeavesNoGradient) {
  FormCase c(5, {2, 1, 4}, {}, true);
  std::fill(c.sinks.begin(), c.sinks.end(), 1000.0F);
  for (const KernelSet* set : every_set())
    for (const float gradient : c.backward(*set, c.t)) EXPECT_EQ(gradient, 0.0F) << set->name;
}

/// Scores of 3 and -3 under a cap of 3 are 3 tanh(1) and its negative. The weight of the first key
/// is 1 / (1 + exp(-6 tanh(1))) = 0.989744.
TEST(AttentionForms, CapByHand) {
  const HeadShape shape{1, 1, 1};
  const Floats q{3}, k{1, -1}, v{1, 0};
  for (const KernelSet* set : every_set()) {
    const Pages pages(*set, k, v, shape);
    const AttentionRow row = pages.row(2);
    ExecutionContext context;
    float out = 0.0F;
    const AttentionForm form{1.0F, 3.0F};
    module_kernels(*set).attention(context, q.data(), &row, 1, shape, {0, 0, 1}, form, &out);
    EXPECT_NEAR(out, 1.0 / (1.0 + std::exp(-6.0 * std::tanh(1.0))),
                set->numerics == std::string_view(kBf16Sliced8) ? 4e-3 : 1e-6)
        << set->name;
  }
}

/// Each gradient against a central difference of the loops, in double precision.
TEST(AttentionForms, BackwardIsTheDerivative) {
  for (const AttentionForm& form : {AttentionForm{0, 0, 3}, AttentionForm{0.4F, 1.5F, 0},
                                    AttentionForm{0, 0, 0}, AttentionForm{0.7F, 2.0F, 4}}) {
    const FormCase c(7, {4, 2, 3}, form, true);
    const Loops loops{c.t, c.shape, c.form};
    Operands o = c.operands();
    Doubles expected;
    for (Doubles* operand : {&o.q, &o.k, &o.v, &o.sinks})
      for (double& value : *operand) {
        const double kept = value, step = 1e-5;
        value = kept + step;
        const double up = loops.loss(o, c.dout);
        value = kept - step;
        expected.push_back((up - loops.loss(o, c.dout)) / (2.0 * step));
        value = kept;
      }
    const Floats truth(expected.begin(), expected.end());
    EXPECT_TRUE(near(c.backward(reference_kernels(), c.t), truth, 1e-6));
    for (const KernelSet* set : every_set())
      EXPECT_TRUE(near(c.backward(*set, c.t), truth, tolerance(*set))) << set->name;
  }
}

/// More than one chunk of keys and block of queries, and windows around a chunk of 256 keys.
TEST(AttentionForms, LongBackwardAgreesWithTheReference) {
  constexpr std::int64_t kTokens = 530, kQueries = 290;
  for (const std::int64_t window : {0, 1, 64, 255, 256, 257}) {
    const FormCase c(kTokens, {2, 1, 8}, {0, 5.0F, window}, true);
    const Floats truth = c.backward(reference_kernels(), kQueries);
    for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
      const Floats plain = c.backward(*sets_of(numerics).front(), kQueries);
      for (const KernelSet* set : sets_of(numerics)) {
        EXPECT_TRUE(near(plain, truth, 4.0 * tolerance(*set))) << set->name << ' ' << window;
        EXPECT_TRUE(same_bits(c.backward(*set, kQueries), plain)) << set->name << ' ' << window;
      }
    }
  }
}

/// Key heads in parts: dq, dk, dv and dsinks of the others stay as they are.
TEST(AttentionForms, PartsOfHeadsWriteTheirOwn) {
  const FormCase c(20, {6, 3, 8}, {0, 0, 7}, true);
  for (const KernelSet* set : every_set()) {
    const Floats whole = c.backward(*set, c.t);
    Floats part(whole.size(), 7.0F);
    float *dq = part.data(), *dk = dq + c.t * c.q_row(), *dv = dk + c.t * c.kv_row(),
          *dsinks = dv + c.t * c.kv_row();
    ExecutionContext context;
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      module_kernels(*set).attention_backward(context, c.q.data(), c.k.data(), c.v.data(),
                                              c.dout.data(), c.t, c.t, c.shape, begin, end, c.form,
                                              dq, dk, dv, dsinks);
    };
    run(1, 2);
    EXPECT_EQ(dsinks[1], 7.0F);
    EXPECT_NE(dsinks[2], 7.0F);
    run(2, 3), run(0, 1);
    EXPECT_TRUE(same_bits(part, whole)) << set->name;
  }
}

}  // namespace
}  // namespace rollcall::kernels
