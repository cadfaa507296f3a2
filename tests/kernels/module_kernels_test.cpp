// Norms, rotary embedding, gates, caps, turned panels and merged adapters: against double loops and
// hand-worked numbers, the same bits on every set, backward as the derivative.
#include "kernels/module_kernels.hpp"

#include "kernels/bf16.hpp"
#include "operands.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

namespace rollcall::kernels {
namespace {

using Doubles = std::vector<double>;

/// d loss / d x of each x by central differences in double precision.
Floats derivative(Doubles x, const std::function<double(const Doubles&)>& loss) {
  Floats result;
  for (double& value : x) {
    const double kept = value, step = 1e-5;
    value = kept + step;
    const double up = loss(x);
    value = kept - step;
    result.push_back(static_cast<float>((up - loss(x)) / (2.0 * step)));
    value = kept;
  }
  return result;
}
Doubles wide(const Floats& x) { return Doubles(x.begin(), x.end()); }

TEST(ModuleKernels, EverySetHasItsOwn) {
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  sets.push_back(&device_host_kernels());
  for (const KernelSet* set : sets) {
    EXPECT_STREQ(module_kernels(*set).name, set->name);
    EXPECT_STREQ(module_kernels(*set).numerics, set->numerics);
  }
  KernelSet unknown = scalar_kernels();
  unknown.name = "avx1024";
  EXPECT_THROW(module_kernels(unknown), std::invalid_argument);
}

// --- Norms and rotary embedding ---

TEST(NormPlusOne, HasTheBitsOfANormWithLargerWeights) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t n = *rc::gen::inRange(1, 6), d = *rc::gen::inRange(1, 80);
    const unsigned seed = *rc::gen::arbitrary<unsigned>();
    const Floats x = random_floats(n * d, seed), dy = random_floats(n * d, seed + 1),
                 weight = random_floats(d, seed + 2);
    Floats factors;
    for (const float w : weight) factors.push_back(1.0F + w);
    for (const KernelSet* set : every_set()) {
      const ModuleKernels& modules = module_kernels(*set);
      ExecutionContext context;
      Floats y(x.size()), expected(x.size()), dweight(std::size_t(d), 0.5F), dexpected = dweight;
      modules.rms_norm_plus_one(context, x.data(), n, d, weight.data(), 1e-6F, y.data());
      set->rms_norm(context, x.data(), n, d, factors.data(), 1e-6F, expected.data());
      RC_ASSERT(same_bits(y, expected));
      modules.rms_norm_plus_one_backward(context, x.data(), n, d, weight.data(), 1e-6F, dy.data(),
                                         y.data(), dweight.data());
      set->rms_norm_backward(context, x.data(), n, d, factors.data(), 1e-6F, dy.data(),
                             expected.data(), dexpected.data());
      RC_ASSERT(same_bits(y, expected));
      RC_ASSERT(same_bits(dweight, dexpected));
    }
  }));
}

TEST(NormPlusOne, AgreesWithLoopsAndTheirDerivative) {
  constexpr std::int64_t d = 19;
  const Floats x = random_floats(d, 1), dy = random_floats(d, 2), weight = random_floats(d, 3);
  const auto outputs = [&](const Doubles& in, const Doubles& w) {
    double square = 0.0;
    for (const double value : in) square += value * value;
    Doubles y;
    for (std::size_t j = 0; j < in.size(); ++j)
      y.push_back(in[j] / std::sqrt(square / d + 1e-6) * (1.0 + w[j]));
    return y;
  };
  const auto loss = [&](const Doubles& in, const Doubles& w) {
    const Doubles y = outputs(in, w);
    double sum = 0.0;
    for (std::size_t j = 0; j < y.size(); ++j) sum += y[j] * dy[j];
    return sum;
  };
  const Doubles truth = outputs(wide(x), wide(weight));
  const Floats dx = derivative(wide(x), [&](auto&in) { return loss(in, wide(weight)); }),
               dweight = derivative(wide(weight), [&](auto&w) { return loss(wide(x), w); });
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  for (const KernelSet* set : sets) {
    ExecutionContext context;
    Floats y(d), to_x(d), to_weight(d);
    module_kernels(*set).rms_norm_plus_one(context, x.data(), 1, d, weight.data(), 1e-6F, y.data());
    module_kernels(*set).rms_norm_plus_one_backward(context, x.data(), 1, d, weight.data(), 1e-6F,
                                                    dy.data(), to_x.data(), to_weight.data());
    EXPECT_TRUE(near(y, Floats(truth.begin(), truth.end()), 1e-6)) << set->name;
    EXPECT_TRUE(near(to_x, dx, 2e-6)) << set->name;
    EXPECT_TRUE(near(to_weight, dweight, 2e-6)) << set->name;
  }
}

/// The first numbers of each head are turned as a head of that size, and the others stay.
TEST(RopePartial, TurnsTheBeginningOfEachHead) {
  constexpr std::int64_t n = 3, heads = 2, head_dim = 40;
  for (const std::int64_t rotary_dim : {2, 10, 34, 40}) {
    const Floats x = random_floats(n * heads * head_dim, 1);
    const Floats angle = random_floats(8 * rotary_dim / 2, 2);
    Floats cos, sin;
    for (const float a : angle) cos.push_back(std::cos(a)), sin.push_back(std::sin(a));
    const std::int32_t position[n] = {5, 0, 7};
    std::vector<const KernelSet*> sets = every_set();
    sets.push_back(&reference_kernels());
    for (const KernelSet* set : sets)
      for (const int direction : {1, -1}) {
        ExecutionContext context;
        Floats turned = x, begins, expected = x;
        module_kernels(*set).rope_partial(context, turned.data(), n, heads, head_dim, rotary_dim,
                                          position, cos.data(), sin.data(), direction);
        for (std::int64_t i = 0; i < n * heads; ++i)
          begins.insert(begins.end(), x.begin() + i * head_dim,
                        x.begin() + i * head_dim + rotary_dim);
        set->rope(context, begins.data(), n, heads, rotary_dim, position, cos.data(), sin.data(),
                  direction);
        for (std::int64_t i = 0; i < n * heads; ++i)
          std::copy_n(begins.begin() + i * rotary_dim, rotary_dim, expected.begin() + i * head_dim);
        EXPECT_TRUE(same_bits(turned, expected)) << set->name << ' ' << rotary_dim;
        EXPECT_FALSE(same_bits(turned, x)) << set->name << ' ' << rotary_dim;
      }
  }
}

// --- Gates and caps ---

/// What an MLP computes of a gate and of `up`.
double gated_value(Gate form, double gate, double up) {
  if (form == Gate::silu) return gate / (1.0 + std::exp(-gate)) * up;
  if (form == Gate::gelu_tanh) {
    const double inner = std::sqrt(2.0 / std::acos(-1.0)) * (gate + 0.044715 * std::pow(gate, 3));
    return 0.5 * gate * (1.0 + std::tanh(inner)) * up;
  }
  const double g = std::min(gate, 7.0), u = std::min(std::max(up, -7.0), 7.0);
  return (u + 1.0) * g / (1.0 + std::exp(-1.702 * g));
}

constexpr Gate kGates[] = {Gate::silu, Gate::gelu_tanh, Gate::silu_clamped};

struct Gates {
  Floats gate, up, dy;

  Floats forward(const KernelSet& set, Gate form) const {
    ExecutionContext context;
    Floats y(gate.size());
    module_kernels(set).gated(context, gate.data(), up.data(), 1, std::int64_t(y.size()), form,
                              y.data());
    return y;
  }
  /// dgate and dup, one after the other.
  Floats backward(const KernelSet& set, Gate form) const {
    ExecutionContext context;
    Floats gradients(2 * gate.size());
    module_kernels(set).gated_backward(context, gate.data(), up.data(), 1,
                                       std::int64_t(gate.size()), dy.data(), form, gradients.data(),
                                       gradients.data() + gate.size());
    return gradients;
  }
};

TEST(Gated, HandWorked) {
  // gelu_tanh(1) = 0.841192, gelu_tanh(-1) = -0.158808, gelu_tanh(3) = 2.996363. silu_clamped(8, 9)
  // = 8 * 7 sigmoid(11.914) = 55.999625, silu_clamped(1, -20) = -6 sigmoid(1.702) = -5.074775.
  const Gates gelu{{1, -1, 3, 0}, {1, 2, 1, 5}, Floats(4, 1.0F)},
      clamped{{8, 1, 0, -100}, {9, -20, 3, 3}, Floats(4, 1.0F)};
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  for (const KernelSet* set : sets) {
    EXPECT_TRUE(
        near(gelu.forward(*set, Gate::gelu_tanh), {0.841192F, -0.317616F, 2.996363F, 0.0F}, 1e-6))
        << set->name;
    EXPECT_TRUE(
        near(clamped.forward(*set, Gate::silu_clamped), {55.999625F, -5.074775F, 0.0F, 0.0F}, 1e-6))
        << set->name;
    // Beyond a limit nothing flows back: gate 8 and up 9 and -20.
    const Floats gradients = clamped.backward(*set, Gate::silu_clamped);
    EXPECT_EQ(gradients[0], 0.0F) << set->name;
    EXPECT_EQ(gradients[4], 0.0F) << set->name;
    EXPECT_EQ(gradients[5], 0.0F) << set->name;
    EXPECT_NE(gradients[1], 0.0F) << set->name;
  }
}

TEST(Gated, AgreesWithLoopsAndTheirDerivative) {
  const Gates g{random_floats(300, 1, 3.0F), random_floats(300, 2, 5.0F), random_floats(300, 3)};
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  for (const Gate form : kGates) {
    Floats truth, dgate, dup;
    for (std::size_t i = 0; i < g.gate.size(); ++i) {
      const double gate = g.gate[i], up = g.up[i], step = 1e-6;
      truth.push_back(static_cast<float>(gated_value(form, gate, up)));
      dgate.push_back(static_cast<float>(
          g.dy[i] * (gated_value(form, gate + step, up) - gated_value(form, gate - step, up)) /
          (2 * step)));
      dup.push_back(static_cast<float>(
          g.dy[i] * (gated_value(form, gate, up + step) - gated_value(form, gate, up - step)) /
          (2 * step)));
    }
    dgate.insert(dgate.end(), dup.begin(), dup.end());
    for (const KernelSet* set : sets) {
      EXPECT_TRUE(near(g.forward(*set, form), truth, 2e-6)) << set->name << int(form);
      EXPECT_TRUE(near(g.backward(*set, form), dgate, 3e-6)) << set->name << int(form);
      if (set == &reference_kernels()) continue;
      EXPECT_TRUE(same_bits(g.forward(*set, form), g.forward(plain_set(), form))) << set->name;
      EXPECT_TRUE(same_bits(g.backward(*set, form), g.backward(plain_set(), form))) << set->name;
    }
  }
  ExecutionContext context;
  Floats y(g.gate.size());
  plain_set().swiglu(context, g.gate.data(), g.up.data(), 1, 300, y.data());
  EXPECT_TRUE(same_bits(g.forward(plain_set(), Gate::silu), y));
}

TEST(Gated, ExtremeGatesStayFinite) {
  const Gates g{{-1e30F, -100, -12, 12, 100, 1e30F}, Floats(6, 1.0F), Floats(6, 1.0F)};
  for (const KernelSet* set : every_set()) {
    EXPECT_TRUE(near(g.forward(*set, Gate::gelu_tanh), {0, 0, 0, 12, 100, 1e30F}, 1e-6));
    EXPECT_TRUE(
        near(g.backward(*set, Gate::gelu_tanh), {0, 0, 0, 1, 1, 1, 0, 0, 0, 12, 100, 1e30F}, 1e-6))
        << set->name;
    for (const float value : g.backward(*set, Gate::silu_clamped))
      EXPECT_TRUE(std::isfinite(value)) << set->name;
  }
  const float nan = std::nan("");
  const Gates bad{{nan, 1, nan}, {1, nan, nan}, Floats(3, 1.0F)};
  for (const KernelSet* set : every_set())
    for (const Gate form : kGates)
      for (const float value : bad.forward(*set, form)) EXPECT_TRUE(std::isnan(value)) << set->name;
}

TEST(Softcap, HandWorkedAndExtreme) {
  // 30 tanh(1) = 22.847825, 30 tanh(0.1) = 2.990040
  const Floats x{30, -30, 3, 0, 1e30F, -1e30F}, z{15, -15, 0, 30, -30, 7.5F};
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  for (const KernelSet* set : sets) {
    ExecutionContext context;
    Floats y = x, dz(6, 2.0F);
    module_kernels(*set).softcap(context, y.data(), 6, 30.0F);
    EXPECT_TRUE(near(y, {22.847825F, -22.847825F, 2.990040F, 0, 30, -30}, 1e-6)) << set->name;
    module_kernels(*set).softcap_backward(context, z.data(), dz.data(), 6, 30.0F);
    EXPECT_TRUE(near(dz, {1.5F, 1.5F, 2, 0, 0, 1.875F}, 1e-6)) << set->name;
    Floats bad{std::nan("")};
    module_kernels(*set).softcap(context, bad.data(), 1, 30.0F);
    EXPECT_TRUE(std::isnan(bad[0])) << set->name;
  }
}

TEST(Softcap, AgreesWithLoopsAndTheirDerivative) {
  constexpr std::int64_t n = 77;
  constexpr float cap = 5.0F;
  const Floats x = random_floats(n, 1, 6.0F), dz = random_floats(n, 2);
  Floats truth, dtruth, plain, dplain;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::tanh(static_cast<double>(x[i]) / cap);
    truth.push_back(static_cast<float>(cap * t));
    dtruth.push_back(static_cast<float>(dz[i] * (1.0 - t * t)));
  }
  for (const KernelSet* set : every_set()) {
    ExecutionContext context;
    Floats z = x, d = dz;
    module_kernels(*set).softcap(context, z.data(), n, cap);
    module_kernels(*set).softcap_backward(context, z.data(), d.data(), n, cap);
    EXPECT_TRUE(near(z, truth, 1e-6)) << set->name;
    EXPECT_TRUE(near(d, dtruth, 1e-6)) << set->name;
    if (plain.empty()) plain = z, dplain = d;
    EXPECT_TRUE(same_bits(z, plain) && same_bits(d, dplain)) << set->name;
  }
}

// --- Panels and adapters ---

/// A matrix with denormals, both zeros, infinities and the largest numbers.
Floats odd_matrix(std::int64_t count) {
  Floats w = random_floats(count, 3);
  const float odd[] = {-0.0F,
                       1e-40F,
                       -1e-40F,
                       0.0F,
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::max(),
                       9e-41F};
  for (std::size_t i = 0; i < w.size(); i += 3) w[i] = odd[i / 3 % std::size(odd)];
  return w;
}

TEST(Panels, TurnedArePacked) {
  for (const std::int64_t o : {1, 15, 16, 17, 33, 64, 100})
    for (const std::int64_t k : {1, 16, 31, 32, 33, 50, 129}) {
      const Floats w = odd_matrix(o * k);
      std::vector<const KernelSet*> sets = every_set();
      sets.push_back(&reference_kernels());
      for (const KernelSet* set : sets) {
        // Memory that nobody writes keeps its pattern, in both.
        std::vector<unsigned char> panels(std::size_t(set->packed_bytes(o, k))),
            turned(std::size_t(set->packed_bytes(k, o)), 0xA5), expected = turned;
        set->pack(w.data(), o, k, panels.data());
        set->pack_transposed(w.data(), o, k, 0, panels_of(k), expected.data());
        const std::int64_t cut = panels_of(k) / 2;
        module_kernels(*set).turn_panels(panels.data(), o, k, cut, panels_of(k), turned.data());
        module_kernels(*set).turn_panels(panels.data(), o, k, 0, cut, turned.data());
        EXPECT_EQ(turned, expected) << set->name << ' ' << set->numerics << ' ' << o << ' ' << k;
      }
    }
}

struct Adapted {
  std::int64_t rows, k, rank;
  Floats w, a, b;
  float scale = 0.5F;

  Floats merged(const KernelSet& set) const {
    Floats out(w.size());
    module_kernels(set).merge_rows(w.data(), rows, k, b.data(), a.data(), rank, scale, out.data());
    return out;
  }
};

TEST(Merge, AZeroAdapterKeepsEveryBit) {
  for (const std::int64_t k : {1, 16, 63, 64, 130}) {
    Adapted c{3, k, 2, odd_matrix(3 * k), random_floats(2 * k, 5), Floats(6)};
    c.b[3] = -0.0F;
    for (const KernelSet* set : every_set()) {
      EXPECT_TRUE(same_bits(c.merged(*set), c.w)) << set->name;
      Adapted none = c;
      none.rank = 0;
      EXPECT_TRUE(same_bits(none.merged(*set), c.w)) << set->name;
    }
    EXPECT_TRUE(same_bits(c.merged(device_host_kernels()), c.w));
  }
}

TEST(Merge, AgreesWithLoopsOnEverySet) {
  for (const std::int64_t k : {1, 17, 64, 100, 200})
    for (const std::int64_t rank : {1, 5, 16}) {
      const Adapted c{4,
                      k,
                      rank,
                      random_floats(4 * k, 1),
                      random_floats(rank * k, 2),
                      random_floats(4 * rank, 3)};
      Floats truth, halves_as_floats;
      std::vector<std::uint16_t> halves;
      for (std::int64_t r = 0; r < c.rows; ++r)
        for (std::int64_t j = 0; j < k; ++j) {
          const float w = c.w[std::size_t(r * k + j)];
          double sum = w;
          for (std::int64_t i = 0; i < rank; ++i)
            sum += 0.5 * c.b[std::size_t(r * rank + i)] * c.a[std::size_t(i * k + j)];
          truth.push_back(static_cast<float>(sum));
          halves.push_back(to_bf16(w));
          halves_as_floats.push_back(from_bf16(halves.back()));
        }
      EXPECT_TRUE(near(c.merged(reference_kernels()), truth, 1e-6));
      for (const KernelSet* set : every_set()) {
        EXPECT_TRUE(near(c.merged(*set), truth, 2e-6)) << set->name;
        EXPECT_TRUE(same_bits(c.merged(*set), c.merged(plain_set()))) << set->name;
        // In place, and from bf16, which is as from the same numbers in fp32.
        Floats in_place = c.w, from_halves(c.w.size());
        const ModuleKernels& modules = module_kernels(*set);
        modules.merge_rows(in_place.data(), c.rows, k, c.b.data(), c.a.data(), rank, c.scale,
                           in_place.data());
        EXPECT_TRUE(same_bits(in_place, c.merged(*set))) << set->name;
        modules.merge_halves(halves.data(), c.rows, k, c.b.data(), c.a.data(), rank, c.scale,
                             from_halves.data());
        Adapted rounded = c;
        rounded.w = halves_as_floats;
        EXPECT_TRUE(same_bits(from_halves, rounded.merged(*set))) << set->name;
      }
    }
}

}  // namespace
}  // namespace rollcall::kernels
