// The router of experts: hand-worked numbers, ties, records, the same bits on every set and in any
// batch, and the backward pass as the derivative of the weights and of the router's own loss.
#include "kernels/module_kernels.hpp"
#include "operands.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace rollcall::kernels {
namespace {

using Ids = std::vector<std::int32_t>;

struct Routed {
  Floats logits, weights;
  Ids ids;
};

struct RouteCase {
  std::int64_t n, hidden;
  RouteForm form;
  Floats x, w, bias;
  std::vector<std::uint16_t> record{};

  Routed route(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    Routed r{Floats(std::size_t(rows * form.experts)), Floats(std::size_t(rows * form.per_token)),
             Ids(std::size_t(rows * form.per_token))};
    ExecutionContext context;
    module_kernels(set).route(context, x.data() + first * hidden, rows, hidden, w.data(),
                              bias.empty() ? nullptr : bias.data(), form,
                              record.empty() ? nullptr : record.data() + first * form.per_token,
                              r.logits.data(), r.ids.data(), r.weights.data());
    return r;
  }
};

/// A router that hands its rows to the logits: hidden = experts, and W is the identity.
RouteCase of_logits(const Floats& logits, RouteForm form) {
  const std::int64_t experts = form.experts;
  RouteCase c{std::int64_t(logits.size()) / experts,  experts, form, logits,
              Floats(std::size_t(experts * experts)), {}};
  for (std::int64_t e = 0; e < experts; ++e) c.w[std::size_t(e * experts + e)] = 1.0F;
  return c;
}

std::vector<const KernelSet*> all_sets() {
  std::vector<const KernelSet*> sets = every_set();
  sets.push_back(&reference_kernels());
  return sets;
}

constexpr RouteForm kQwen{4, 2, true, true}, kOlmoe{4, 2, true, false}, kGptOss{4, 2, false, false};

/// Logits ln 1, ln 2, ln 5, ln 2: the softmax is 0.1, 0.2, 0.5, 0.2. The experts are 2 and, of two
/// equal ones, 1.
TEST(Route, HandWorked) {
  const Floats logits{0.0F, std::log(2.0F), std::log(5.0F), std::log(2.0F)};
  for (const KernelSet* set : all_sets()) {
    for (const RouteForm& form : {kQwen, kGptOss}) {
      const Routed r = of_logits(logits, form).route(*set, 0, 1);
      EXPECT_EQ(r.ids, (Ids{1, 2})) << set->name;
      EXPECT_TRUE(near(r.weights, {2.0F / 7.0F, 5.0F / 7.0F}, 1e-6)) << set->name;
      EXPECT_TRUE(near(r.logits, logits, 1e-7)) << set->name;
    }
    const Routed r = of_logits(logits, kOlmoe).route(*set, 0, 1);
    EXPECT_EQ(r.ids, (Ids{1, 2})) << set->name;
    EXPECT_TRUE(near(r.weights, {0.2F, 0.5F}, 1e-6)) << set->name;
  }
}

TEST(Route, TheLowerIdOfEqualLogits) {
  const RouteForm form{20, 3, true, true};
  Floats logits(20, 1.0F);
  for (const KernelSet* set : all_sets()) {
    EXPECT_EQ(of_logits(logits, form).route(*set, 0, 1).ids, (Ids{0, 1, 2})) << set->name;
    Floats two = logits;
    two[19] = two[7] = two[8] = two[11] = 2.0F;
    EXPECT_EQ(of_logits(two, form).route(*set, 0, 1).ids, (Ids{7, 8, 11})) << set->name;
    two[19] = 3.0F;
    EXPECT_EQ(of_logits(two, form).route(*set, 0, 1).ids, (Ids{7, 8, 19})) << set->name;
    // Far below the largest logit all probabilities are 0 in fp32, but the order is that of logits.
    Floats far(20, -900.0F);
    far[4] = 0.0F, far[17] = -500.0F, far[9] = -600.0F;
    EXPECT_EQ(of_logits(far, form).route(*set, 0, 1).ids, (Ids{4, 9, 17})) << set->name;
  }
}

/// Whatever the logits are, ids are experts and each is chosen once, so that nobody reads beyond.
TEST(Route, IdsOfNansAreExperts) {
  for (const KernelSet* set : every_set())
    for (unsigned pattern = 0; pattern < 64; ++pattern) {
      RouteCase c{1, 1, {6, 3, true, true}, {1.0F}, Floats(6), {}};
      for (unsigned e = 0; e < 6; ++e) c.w[e] = pattern >> e & 1U ? std::nan("") : float(e % 3);
      const Ids ids = c.route(*set, 0, 1).ids;
      EXPECT_TRUE(0 <= ids[0] && ids[0] < ids[1] && ids[1] < ids[2] && ids[2] < 6) << pattern;
    }
}

TEST(Route, ARecordNamesTheExperts) {
  const Floats logits{0.0F, std::log(2.0F), std::log(5.0F), std::log(2.0F),
                      0.0F, std::log(2.0F), std::log(5.0F), std::log(2.0F)};
  for (const KernelSet* set : all_sets()) {
    RouteCase c = of_logits(logits, kQwen);
    c.record = {3, 0, kNoRecord, kNoRecord};
    const Routed r = c.route(*set, 0, 2), own = of_logits(logits, kQwen).route(*set, 0, 2);
    EXPECT_EQ(r.ids, (Ids{0, 3, 1, 2})) << set->name;
    EXPECT_TRUE(near(r.weights, {1.0F / 3.0F, 2.0F / 3.0F, 2.0F / 7.0F, 5.0F / 7.0F}, 1e-6));
    c.form = kOlmoe;
    EXPECT_TRUE(near(c.route(*set, 0, 2).weights, {0.1F, 0.2F, 0.2F, 0.5F}, 1e-6)) << set->name;
    // Each row has a record of its own.
    c.form = kQwen;
    c.record = {0, 3, 2, 0};
    EXPECT_EQ(c.route(*set, 0, 2).ids, (Ids{0, 3, 0, 2})) << set->name;
    // The record of the own choice changes no bit.
    c.record = {1, 2, 1, 2};
    const Routed again = c.route(*set, 0, 2);
    EXPECT_TRUE(same_bits(again.weights, own.weights) && again.ids == own.ids) << set->name;
    // Recorded experts may have become as unlikely as this.
    RouteCase unlikely = of_logits({0, 0, 1e4F, -50}, kQwen);
    unlikely.record = {0, 1};
    EXPECT_TRUE(near(unlikely.route(*set, 0, 1).weights, {0.5F, 0.5F}, 1e-6)) << set->name;
  }
}

rc::Gen<RouteCase> cases() {
  return rc::gen::exec([] {
    const std::int64_t experts = *rc::gen::element<std::int64_t>(1, 3, 8, 17, 64),
                       n = *rc::gen::inRange(1, 8), hidden = *rc::gen::inRange(1, 70);
    const auto seed = *rc::gen::arbitrary<unsigned>();
    const bool biased = *rc::gen::arbitrary<bool>();
    return RouteCase{n,
                     hidden,
                     {experts, *rc::gen::inRange<std::int64_t>(1, experts + 1),
                      *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()},
                     random_floats(n * hidden, seed),
                     random_floats(experts * hidden, seed + 1),
                     biased ? random_floats(experts, seed + 2) : Floats{}};
  });
}

TEST(Route, SetsAreBitIdenticalAndRowsAreAlone) {
  EXPECT_TRUE(rc::check([] {
    const RouteCase c = *cases();
    const Routed plain = c.route(plain_set(), 0, c.n), truth = c.route(reference_kernels(), 0, c.n);
    RC_ASSERT(near(plain.logits, truth.logits, 1e-5));
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n), per_token = c.form.per_token;
    for (const KernelSet* set : every_set()) {
      const Routed r = c.route(*set, 0, c.n), part = c.route(*set, cut, c.n - cut);
      RC_ASSERT(same_bits(r.logits, plain.logits));
      RC_ASSERT(same_bits(r.weights, plain.weights));
      RC_ASSERT(r.ids == plain.ids);
      RC_ASSERT(
          same_bits(part.weights, Floats(r.weights.begin() + cut * per_token, r.weights.end())));
      RC_ASSERT(part.ids == Ids(r.ids.begin() + cut * per_token, r.ids.end()));
      for (std::int64_t i = 0; i < c.n; ++i) {
        const float* logits = r.logits.data() + i * c.form.experts;
        Ids order(std::size_t(c.form.experts));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return logits[a] > logits[b]; });
        order.resize(std::size_t(per_token));
        std::sort(order.begin(), order.end());
        RC_ASSERT(order == Ids(r.ids.begin() + i * per_token, r.ids.begin() + (i + 1) * per_token));
      }
    }
  }));
}

/// The loss of one row by plain loops: its weights times dweights, and the router's own terms.
double row_loss(const std::vector<double>& logits, const RouteForm& form, const Ids& ids,
                const Floats& dweights, const RouteLoss& loss, double times) {
  double all = 0.0, chosen = 0.0, sum = 0.0, balance = 0.0;
  for (const double l : logits) all += std::exp(l);
  for (const std::int32_t id : ids) chosen += std::exp(logits[std::size_t(id)]);
  for (std::size_t j = 0; j < ids.size(); ++j)
    sum +=
        dweights[j] * std::exp(logits[std::size_t(ids[j])]) / (form.sums_to_one() ? chosen : all);
  for (std::size_t e = 0; loss.aux != 0 && e < logits.size(); ++e)
    balance += loss.share[e] * std::exp(logits[e]) / all;
  const double lse = std::log(all);
  return sum + times * (loss.aux * double(logits.size()) * balance + loss.z * lse * lse);
}

TEST(Route, BackwardIsTheDerivative) {
  constexpr std::int64_t n = 3, experts = 19, per_token = 4;
  const Floats logits = random_floats(n * experts, 1), share = random_floats(experts, 2, 0.2F),
               times{1.0F, 0.0F, 3.0F}, dweights = random_floats(n * per_token, 3);
  for (const RouteForm& form :
       {RouteForm{experts, per_token, true, true}, RouteForm{experts, per_token, true, false},
        RouteForm{experts, per_token, false, false}})
    for (const RouteLoss& loss : {RouteLoss{}, RouteLoss{0.3F, 0, share.data(), times.data()},
                                  RouteLoss{0, 0.2F, nullptr, times.data()},
                                  RouteLoss{0.3F, 0.2F, share.data(), times.data()}}) {
      const Routed r = of_logits(logits, form).route(plain_set(), 0, n);
      Floats truth;
      for (std::int64_t i = 0; i < n; ++i) {
        std::vector<double> row(logits.begin() + i * experts, logits.begin() + (i + 1) * experts);
        const Ids ids(r.ids.begin() + i * per_token, r.ids.begin() + (i + 1) * per_token);
        const Floats d(dweights.begin() + i * per_token, dweights.begin() + (i + 1) * per_token);
        for (double& l : row) {
          const double kept = l, step = 1e-5;
          l = kept + step;
          const double up = row_loss(row, form, ids, d, loss, times[std::size_t(i)]);
          l = kept - step;
          const double down = row_loss(row, form, ids, d, loss, times[std::size_t(i)]);
          truth.push_back(static_cast<float>((up - down) / (2.0 * step)));
          l = kept;
        }
      }
      Floats plain;
      for (const KernelSet* set : all_sets()) {
        ExecutionContext context;
        Floats dlogits(truth.size(), 7.0F);
        module_kernels(*set).route_backward(context, r.logits.data(), n, form, r.ids.data(),
                                            r.weights.data(), dweights.data(), loss,
                                            dlogits.data());
        EXPECT_TRUE(near(dlogits, truth, 1e-6)) << set->name << ' ' << loss.aux << ' ' << loss.z;
        if (plain.empty()) plain = dlogits;
        if (set == &reference_kernels()) continue;
        EXPECT_TRUE(same_bits(dlogits, plain)) << set->name;
      }
    }
}

/// dx and dW against double loops, experts in parts, rows in two calls.
TEST(Route, ProductsOfTheBackwardPass) {
  constexpr std::int64_t n = 5, experts = 6, hidden = 37;
  Floats dlogits = random_floats(n * experts, 1);
  for (std::size_t i = 0; i < dlogits.size(); i += 2) dlogits[i] = 0.0F;
  const Floats x = random_floats(n * hidden, 2), w = random_floats(experts * hidden, 3);
  Floats dx_truth, dw_truth, bias_truth, plain_dx, plain_dw;
  for (std::int64_t i = 0; i < n * hidden; ++i) {
    double sum = 0.0;
    for (std::int64_t e = 0; e < experts; ++e)
      sum += double(dlogits[std::size_t(i / hidden * experts + e)]) *
             w[std::size_t(e * hidden + i % hidden)];
    dx_truth.push_back(float(sum));
  }
  for (std::int64_t i = 0; i < experts * hidden; ++i) {
    double sum = 0.5, bias = 0.5;
    for (std::int64_t r = 0; r < n; ++r) {
      const double d = dlogits[std::size_t(r * experts + i / hidden)];
      sum += d * x[std::size_t(r * hidden + i % hidden)], bias += d;
    }
    dw_truth.push_back(float(sum));
    if (i % hidden == 0) bias_truth.push_back(float(bias));
  }
  for (const KernelSet* set : all_sets()) {
    const ModuleKernels& modules = module_kernels(*set);
    ExecutionContext context;
    Floats dx(x.size(), 7.0F), dw(w.size(), 0.5F), dbias(experts, 0.5F), whole = dw;
    modules.route_inputs_backward(context, dlogits.data(), n, experts, w.data(), hidden, dx.data());
    for (const std::int64_t begin : {0, 4})
      for (const std::int64_t row : {0, 2})
        modules.route_weights_backward(
            context, dlogits.data() + row * experts, x.data() + row * hidden, row == 0 ? 2 : n - 2,
            experts, hidden, begin, begin == 0 ? 4 : experts, dw.data(), dbias.data());
    modules.route_weights_backward(context, dlogits.data(), x.data(), n, experts, hidden, 0,
                                   experts, whole.data(), nullptr);
    EXPECT_TRUE(near(dx, dx_truth, 2e-6)) << set->name;
    EXPECT_TRUE(near(dw, dw_truth, 2e-6)) << set->name;
    EXPECT_TRUE(near(dbias, bias_truth, 2e-6)) << set->name;
    if (set == &reference_kernels()) continue;
    if (plain_dx.empty()) plain_dx = dx, plain_dw = dw;
    EXPECT_TRUE(same_bits(dx, plain_dx) && same_bits(dw, plain_dw)) << set->name;
    EXPECT_TRUE(same_bits(dw, whole)) << set->name;
  }
}

}  // namespace
}  // namespace rollcall::kernels
