// The gradient sum: the same bits for any order, thread count and rank count; its exponents follow
// the gradients.
#include "base/errors/error.hpp"
#include "model/small_models.hpp"
#include "model/train/optimizer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <thread>

namespace rollcall::model::testing {
namespace {

using Outcome = GradientSum::Outcome;

WeightLayout layout_of_two() {
  return {{{{0}, "a", {5}, 0, 5, false}, {{1}, "b", {3}, 16, 3, false}}, 32};
}

/// Ranks as threads of one process.
class Ranks {
 public:
  explicit Ranks(int size) : barrier_(size), size_(size) {}

  class Member final : public Collectives {
   public:
    Member(Ranks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return ranks_.size_; }
    void sum(std::span<std::int64_t> values) override {
      ranks_.all(values, ranks_.integers_, [](std::int64_t a, std::int64_t b) { return a + b; });
    }
    void maximum(std::span<double> values) override {
      ranks_.all(values, ranks_.doubles_, [](double a, double b) { return std::max(a, b); });
    }
    void sum_to_shares(std::span<std::int64_t> values,
                       std::span<const std::int64_t> begins) override {
      sum(values);
      // undefined, says the contract
      std::fill(values.begin(), values.begin() + begins[std::size_t(rank_)], 1);
      std::fill(values.begin() + begins[std::size_t(rank_) + 1], values.end(), 1);
    }
    void broadcast(std::span<std::byte> bytes, int root) override {
      if (rank_ == root) ranks_.bytes_ = bytes;
      barrier();
      if (rank_ != root) std::copy(ranks_.bytes_.begin(), ranks_.bytes_.end(), bytes.begin());
      barrier();
    }
    void barrier() override { ranks_.barrier_.arrive_and_wait(); }

   private:
    Ranks& ranks_;
    int rank_;
  };

 private:
  template <class T, class Combine>
  void all(std::span<T> values, std::vector<T>& shared, Combine combine) {
    {
      const std::lock_guard lock(mutex_);
      if (shared.empty()) shared.assign(values.begin(), values.end());
      else std::transform(values.begin(), values.end(), shared.begin(), shared.begin(), combine);
    }
    barrier_.arrive_and_wait();
    std::copy(shared.begin(), shared.end(), values.begin());
    barrier_.arrive_and_wait();
    {
      const std::lock_guard lock(mutex_);
      shared.clear();
    }
    barrier_.arrive_and_wait();
  }
  std::barrier<> barrier_;
  std::mutex mutex_;
  int size_;
  std::vector<std::int64_t> integers_;
  std::vector<double> doubles_;
  std::span<std::byte> bytes_;
};

void on_ranks(int ranks, const std::function<void(Collectives&)>& body) {
  Ranks world(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Ranks::Member member(world, rank);
      body(member);
    });
  }
}

std::vector<std::vector<float>> random_micro_batches(std::size_t count, std::uint64_t seed,
                                                     double scale) {
  std::vector<std::vector<float>> micro_batches(count, std::vector<float>(32, 0.0F));
  for (std::size_t micro_batch = 0; micro_batch < count; ++micro_batch) {
    const RandomStream stream(seed, RandomPurpose::test, 4, micro_batch);
    for (const std::size_t i : {0, 1, 2, 3, 4, 16, 17, 18})
      micro_batches[micro_batch][i] =
          float(scale * std::pow(10.0, -4.0 * stream.uniform(2 * i)) * stream.normal(2 * i + 1));
  }
  return micro_batches;
}

struct Summed {
  std::vector<float> gradient;
  double norm;
  std::vector<std::int64_t> exponents;
  int repeats;
  bool operator==(const Summed&) const = default;
};

/// Micro-batches dealt round robin to `ranks`, each rank adding from two threads.
Summed sum_on(int ranks, const std::vector<std::vector<float>>& micro_batches) {
  Ranks world(ranks);
  std::vector<Summed> results(std::size_t(ranks), Summed{});
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Ranks::Member member(world, rank);
      GradientSum sum(layout_of_two());
      Outcome outcome = Outcome::repeat;
      int rounds = 0;
      for (; outcome == Outcome::repeat && rounds < 5; ++rounds) {
        sum.start();
        std::vector<std::jthread> adders;
        for (std::size_t half = 0; half < 2; ++half) {
          adders.emplace_back([&, half] {
            for (std::size_t micro_batch = std::size_t(rank) + half * std::size_t(ranks);
                 micro_batch < micro_batches.size(); micro_batch += 2 * std::size_t(ranks))
              sum.add(micro_batches[micro_batch]);
          });
        }
        adders.clear();
        outcome = sum.finish(member);
      }
      EXPECT_EQ(outcome, Outcome::ready);
      const GradientShare all = sum.gradient();
      results[std::size_t(rank)] = {
          {all.values.begin(), all.values.end()}, all.norm, sum.exponents(), rounds - 1};
    });
  }
  threads.clear();
  for (const Summed& result : results) EXPECT_EQ(result, results[0]);
  return results[0];
}

TEST(GradientSum, BitsDoNotDependOnOrderThreadsOrRanks) {
  const bool ok = rc::check([] {
    const double scale = *rc::gen::element(1e-20, 1e-6, 1e-3, 1.0, 1e6, 1e30);
    auto micro_batches = random_micro_batches(*rc::gen::inRange<std::size_t>(1, 12),
                                              *rc::gen::inRange<std::uint64_t>(0, 1000), scale);
    const Summed one = sum_on(1, micro_batches);
    RC_ASSERT(one.repeats <= 1);
    RC_ASSERT(sum_on(3, micro_batches) == one);
    std::reverse(micro_batches.begin(), micro_batches.end());
    RC_ASSERT(sum_on(2, micro_batches) == one);
    for (std::size_t i = 0; i < 32; ++i) {
      double exact = 0.0, size = 0.0;
      for (const auto& micro_batch : micro_batches) {
        exact += double(micro_batch[i]);
        size += std::fabs(double(micro_batch[i]));
      }
      RC_ASSERT(std::fabs(one.gradient[i] - exact) <= 1e-6 * size + 1e-9 * scale);
    }
  });
  EXPECT_TRUE(ok);
}

/// Two steps of a rank: each sums `leaves` and updates the weights and moments of its share; the
/// second begins with a sum that the first has cleared.
struct Stepped {
  std::vector<float> m, v;
  double norm = 0.0;
};

Stepped step_of(Collectives& ranks, GradientSum sum, const WeightLayout& layout,
                const std::vector<std::vector<float>>& micro_batches, std::span<float> weights) {
  OptimizerState state;
  std::vector<double> norms;
  for (int step = 0; step < 2; ++step) {
    Outcome outcome = Outcome::repeat;
    while (outcome == Outcome::repeat) {
      sum.start();
      for (std::size_t micro_batch = std::size_t(ranks.rank()); micro_batch < micro_batches.size();
           micro_batch += std::size_t(ranks.size()))
        sum.add(micro_batches[micro_batch]);
      outcome = sum.finish(ranks);
    }
    EXPECT_EQ(outcome, Outcome::ready);
    norms.push_back(sum.gradient().norm);
    apply_adamw(layout, {.weight_decay = 0.1, .max_grad_norm = 1.0}, 0.01, sum.gradient(), weights,
                state);
    sum.clear();
    ranks.barrier();
  }
  EXPECT_NEAR(norms[1], norms[0], 1e-6 * norms[0]) << "the same leaves";
  return {state.m, state.v, norms[0]};
}

/// `nodes` of `on_node` ranks: each node adds into one memory, and ranks of the same place on
/// theirs exchange (comm/node_groups.hpp). [shares]
std::vector<Stepped> step_on(int nodes, int on_node, const WeightLayout& layout,
                             const std::vector<std::vector<float>>& micro_batches,
                             std::span<float> weights) {
  const int ranks = nodes * on_node;
  const auto begins = optimizer_shares(layout.size, ranks);
  std::deque<Ranks> of_node, of_place;
  std::vector<AlignedArray<std::byte>> memories;
  for (int node = 0; node < nodes; ++node)
    of_node.emplace_back(on_node), memories.emplace_back(GradientSum::bytes(layout));
  for (int place = 0; place < on_node; ++place) of_place.emplace_back(nodes);
  std::vector<Stepped> ends(std::size_t(ranks), Stepped{});
  on_ranks(ranks, [&](Collectives& world) {
    const int node = world.rank() / on_node, place = world.rank() % on_node,
              own = place * nodes + node;
    Ranks::Member beside(of_node[std::size_t(node)], place),
        across(of_place[std::size_t(place)], node);
    const auto first = begins.begin() + place * nodes;
    SharedSum shared{begins,
                     own,
                     {memories[std::size_t(node)].span(), nullptr},
                     &beside,
                     {{&across, {first, first + nodes + 1}}}};
    ends[std::size_t(own)] =
        step_of(world, GradientSum(layout, std::move(shared)), layout, micro_batches, weights);
  });
  return ends;
}

TEST(GradientSum, SharedAmongRanksTheStepHasTheSameBits) {
  // cuts of four ranks fall inside the tensors
  constexpr std::int64_t kCount = 60'007, kMatrix = 300'000;
  const WeightLayout layout{{{{0}, "a", {kMatrix}, 0, kMatrix, true},
                             {{1}, "b", {kCount}, kMatrix, kCount, false},
                             {{2}, "c", {kMatrix}, 360'016, kMatrix, true}},
                            660'016};
  std::vector<std::vector<float>> micro_batches(5,
                                                std::vector<float>(std::size_t(layout.size), 0.0F));
  for (std::size_t micro_batch = 0; micro_batch < micro_batches.size(); ++micro_batch)
    for (const Slice& slice : layout.slices)
      for (std::int64_t i = 0; i < slice.count; ++i)
        micro_batches[micro_batch][std::size_t(slice.offset + i)] =
            float((i * 7919 + std::int64_t(micro_batch) * 104729) % 2003 - 1001) * 1e-3F;
  Alone alone;
  const std::vector<float> start(std::size_t(layout.size), 0.5F);
  std::vector<float> expected = start;
  const Stepped whole = step_of(alone, GradientSum(layout), layout, micro_batches, expected);
  EXPECT_GT(whole.norm, 1.0);  // it is clipped
  for (const auto& [nodes, on_node] :
       {std::pair(1, 1), {3, 1}, {1, 3}, {2, 2}, {1, 4}, {4, 1}, {3, 3}}) {
    SCOPED_TRACE(::testing::Message() << nodes << " nodes of " << on_node);
    std::vector<float> weights = start, m, v;
    const auto ends = step_on(nodes, on_node, layout, micro_batches, weights);
    for (const Stepped& end : ends) {
      EXPECT_EQ(end.norm, whole.norm);
      m.insert(m.end(), end.m.begin(), end.m.end()), v.insert(v.end(), end.v.begin(), end.v.end());
    }
    EXPECT_TRUE(weights == expected);
    EXPECT_TRUE(m == whole.m && v == whole.v);
    EXPECT_LE(ends.front().m.size(),
              ends.size() > 1 ? std::size_t(layout.size) / 2 : std::size_t(layout.size));
  }
}

TEST(SumExponents, MakeRoomForTheMicroBatchesOfAllRanks) {
  const std::vector<int> micro_batches{0, 5000, 1};  // [ranks]
  const auto decide = [](Collectives& ranks, int count) {
    SumExponents exponents(1);
    exponents.note(0, 3.0);
    for (int micro_batch = 0; micro_batch < count; ++micro_batch) exponents.end_micro_batch();
    const Outcome outcome = exponents.decide(ranks);
    return std::pair(outcome, exponents.all());
  };
  Alone alone;
  const auto expected = decide(alone, 5001);
  EXPECT_EQ(expected.first, Outcome::repeat);
  EXPECT_EQ(decide(alone, 1).first, Outcome::ready) << "fewer would need no more room";
  on_ranks(3, [&](Collectives& ranks) {
    EXPECT_EQ(decide(ranks, micro_batches[std::size_t(ranks.rank())]), expected);
  });
}

TEST(GradientSum, RepeatsOnceWhenAGradientLeavesTheWindowAndThenRemembers) {
  Alone alone;
  GradientSum sum(layout_of_two());
  const auto step = [&](double scale) {
    sum.start();
    for (const auto& micro_batch : random_micro_batches(3, 1, scale)) sum.add(micro_batch);
    return sum.finish(alone);
  };
  const std::vector<std::int64_t> initial = sum.exponents();
  EXPECT_EQ(step(1e12), Outcome::repeat);
  EXPECT_LT(sum.exponents()[0], initial[0]);
  EXPECT_EQ(step(1e12), Outcome::ready);
  EXPECT_EQ(step(0.5e12), Outcome::ready);
  // from step to step, either way
  for (const double jump : {120.0, 1.0, 1.0 / 120, 1.0})
    EXPECT_EQ(step(jump * 1e12), Outcome::ready) << jump;
  EXPECT_EQ(step(1e-12), Outcome::repeat);
  EXPECT_EQ(step(1e-12), Outcome::ready);
  const std::vector<std::int64_t> small = sum.exponents();
  EXPECT_EQ(step(0.0), Outcome::ready);  // zero tensors keep their exponent
  EXPECT_EQ(sum.exponents(), small);
  EXPECT_EQ(sum.gradient().values[0], 0.0F);
}

TEST(GradientSum, CancellationDoesNotRepeatForEver) {
  Alone alone;
  GradientSum sum(layout_of_two());
  for (const Outcome expected : {Outcome::repeat, Outcome::ready}) {
    sum.start();
    for (const float sign : {1.0F, -1.0F}) {
      std::vector<float> micro_batch(32, 0.0F);
      micro_batch[0] = sign * 1e9F;
      sum.add(micro_batch);
    }
    EXPECT_EQ(sum.finish(alone), expected);
  }
  EXPECT_EQ(sum.gradient().values[0], 0.0F);
}

TEST(GradientSum, PartsOfATensorAddUp) {
  Alone alone;
  GradientSum sum(layout_of_two());
  const std::vector<float> first{1.0F, -2.0F, 3.0F}, second{0.5F, 0.25F};
  for (Outcome outcome = Outcome::repeat; outcome == Outcome::repeat; outcome = sum.finish(alone)) {
    sum.start();
    // element 2 of the first tensor gets two parts
    sum.add({0}, 0, first), sum.add({0}, 2, second), sum.add({1}, 1, second);
    sum.end_micro_batch();
  }
  const auto values = sum.gradient().values;
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 5),
            (std::vector<float>{1.0F, -2.0F, 3.5F, 0.25F, 0.0F}));
  EXPECT_EQ(std::vector<float>(values.begin() + 16, values.begin() + 19),
            (std::vector<float>{0.0F, 0.5F, 0.25F}));
  EXPECT_THROW(sum.add({0}, 3, first), std::logic_error);
  EXPECT_THROW(sum.add({2}, 0, second), std::logic_error);  // no such tensor
}

TEST(GradientSum, APartOutsideTheWindowRepeatsTheWholeTensor) {
  Alone alone;
  GradientSum sum(layout_of_two());
  const std::vector<float> small{1e-3F}, large{1e9F};
  int repeats = -1;
  for (Outcome outcome = Outcome::repeat; outcome == Outcome::repeat;
       outcome = sum.finish(alone), ++repeats) {
    sum.start();
    sum.add({0}, 0, small), sum.add({0}, 1, large);
    sum.end_micro_batch();
  }
  EXPECT_EQ(repeats, 1);
  EXPECT_EQ(sum.gradient().values[1], 1e9F);
  // 1e9 < 2^30 stands in the middle of the window, at 44 bits
  EXPECT_NEAR(sum.gradient().values[0], 1e-3F, std::ldexp(0.5, 30 - 44));
}

TEST(GradientSum, NonFiniteMicroBatchesAreReported) {
  Alone alone;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    GradientSum sum(layout_of_two());
    auto micro_batch = random_micro_batches(1, 1, 1.0)[0];
    micro_batch[17] = bad;
    sum.add(micro_batch);
    EXPECT_EQ(sum.finish(alone), Outcome::nonfinite);
    sum.start();
    sum.add(random_micro_batches(1, 1, 1.0)[0]);
    EXPECT_EQ(sum.finish(alone), Outcome::ready);
  }
}

TEST(GradientSum, RefusesSharesThatCutABlockOfTheNorm) {
  const WeightLayout layout{{{{0}, "a", {9000}, 0, 9000, true}}, 9008};
  Alone alone;
  AlignedArray<std::byte> memory(GradientSum::bytes(layout));
  const auto make = [&](const std::vector<std::int64_t>& begins) {
    GradientSum(layout, SharedSum{begins, 0, {memory.span(), nullptr}, &alone, {}});
  };
  EXPECT_NO_THROW(make({0, 4096, 9008}));
  for (const std::vector<std::int64_t>& begins :
       {std::vector<std::int64_t>{0, 4000, 9008}, {4096, 9008}, {0, 4096}})
    EXPECT_THROW(make(begins), std::logic_error);
  memory = AlignedArray<std::byte>(GradientSum::bytes(layout) - 1);
  EXPECT_THROW(make({0, 9008}), std::logic_error);
}

TEST(GradientSum, ExponentsOfAnotherModelAreRefused) {
  GradientSum sum(layout_of_two());
  const std::vector<std::int64_t> three = {1, 2, 3};
  EXPECT_THROW(sum.set_exponents(three), StorageError);
}

}  // namespace
}  // namespace rollcall::model::testing
