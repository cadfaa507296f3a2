// The optimizer on the emulated device: bit for bit the step that the host takes with the same
// gradients, alone and as any of three ranks.
#include "base/errors/error.hpp"
#ifndef ROLLCALL_ON_HARDWARE  // the same program on a GPU
#include "emulation.hpp"
#endif
#include "kernels/cuda/device_memory.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/device/device_sizes.hpp"
#include "model/small_models.hpp"
#include "model/train/policy_optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace rollcall::model::testing {
namespace {

namespace cuda = kernels::cuda;
constexpr std::int64_t kBlock = kernels::kNormBlock;

const OptimizerSection kSettings{
    .lr = 0.01, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .max_grad_norm = 0.5};

std::shared_ptr<AlignedFloats> first_weights(const ModelConfig& config) {
  return std::make_shared<AlignedFloats>(std::span<const float>(random_weights(config, 8)));
}
PolicyModel policy_of(const ModelConfig& config, const std::shared_ptr<AlignedFloats>& weights) {
  return {config,
          std::shared_ptr<const AlignedFloats>(weights),
          {},
          &kernels::selected_kernels(kernels::kCudaBf16Sliced8)};
}

/// Two micro-batches; their gradients are beyond what the first exponents hold.
struct MicroBatches {
  std::vector<MicroBatch> micro_batches;
  std::vector<ColumnGradient> derivatives;
  explicit MicroBatches(const ModelConfig& config) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      micro_batches.push_back(random_micro_batch(config, {4, 7}, 30 + i));
      derivatives.push_back(random_columns(micro_batches.back().targets.size(), i));
      for (float& x : derivatives.back().logprob) x *= 1e3F;
    }
  }
};

/// What a step leaves behind.
struct End {
  std::vector<float> weights, m, v;
  std::vector<std::int64_t> exponents, squares;  ///< squares: the bits of each block's
  double norm = 0.0;
};

/// `steps` by the host, from gradients that are fetched.
End of_the_host(const ModelConfig& config, int steps) {
  static const kernels::KokkosScope kokkos;
  const auto weights = first_weights(config);
  PolicyModel policy = policy_of(config, weights);
  const MicroBatches all(config);
  const WeightLayout layout = weight_layout(config);
  GradientSum sum(layout);
  OptimizerState state;
  Alone alone;
  Team team;
  MicroBatchRunner runner(team);
  End end;
  for (int step = 1; step <= steps; ++step) {
    auto outcome = SumOutcome::repeat;
    while (outcome == SumOutcome::repeat) {
      sum.start();
      for (std::size_t i = 0; i < all.micro_batches.size(); ++i) {
        runner.forward_backward(policy, all.micro_batches[i], 1.0, all.derivatives[i],
                                [&](TensorId t, std::int64_t first, std::span<const float> v) {
                                  sum.add(t, first, v);
                                });
        sum.end_micro_batch();
      }
      outcome = sum.finish(alone);
    }
    const auto gradient = sum.gradient();
    end.norm = gradient.norm, end.squares.clear();
    for (std::int64_t block = 0; block < layout.size; block += kBlock) {
      const auto part = gradient.values.subspan(std::size_t(block),
                                                std::size_t(std::min(kBlock, layout.size - block)));
      end.squares.push_back(std::bit_cast<std::int64_t>(kernels::sum_of_squares(part)));
    }
    apply_adamw(layout, kSettings, 0.01 * step, gradient, weights->span(), state);
    policy.renew(PolicyVersion{std::uint64_t(step)});
  }
  end.weights.assign(weights->span().begin(), weights->span().end());
  end.m = state.m, end.v = state.v, end.exponents = sum.exponents();
  return end;
}

/// Steps [from, to]; the attempts that the last one took.
int take_steps(DeviceOptimizer& optimizer, const PolicyModel& policy, Collectives& ranks, int from,
               int to) {
  const MicroBatches all(policy.config());
  Team team;
  MicroBatchRunner runner(team);
  int attempts = 0;
  for (int step = from; step <= to; ++step) {
    attempts = 0;
    auto outcome = SumOutcome::repeat;
    for (; outcome == SumOutcome::repeat; ++attempts) {
      optimizer.start();
      for (std::size_t i = 0; i < all.micro_batches.size(); ++i)
        optimizer.add(runner, policy, all.micro_batches[i], 1.0, all.derivatives[i]);
      optimizer.add_none();
      outcome = optimizer.finish(ranks);
    }
    EXPECT_EQ(outcome, SumOutcome::ready);
    optimizer.apply(kSettings, 0.01 * step);
  }
  return attempts;
}

End end_of(DeviceOptimizer& optimizer, std::int64_t size) {
  End end{.weights = std::vector<float>(std::size_t(size)),
          .exponents = optimizer.exponents(),
          .norm = optimizer.norm()};
  optimizer.fetch(end.weights);
  const auto state = optimizer.state();
  end.m = state->m, end.v = state->v;
  return end;
}

void take_another_order() {
#ifndef ROLLCALL_ON_HARDWARE
  emulation::seed(11);
#endif
}

TEST(DeviceOptimizer, StepsAreTheHostsAndArePublished) {
  // with tied embeddings and without, with biases
  for (const Family family : {Family::llama, Family::qwen2}) {
    ModelConfig config = small_config(family);
    config.vocab_size = 400;
    const WeightLayout layout = weight_layout(config);
    const std::int64_t size = layout.size;
    ASSERT_GT(layout.slices[0].count, device_optimizer_sizes(config, size, 1).window)
        << "a matrix that is published in two pieces";
    const End expected = of_the_host(config, 2);
    const auto weights = first_weights(config);
    const PolicyModel policy = policy_of(config, weights);
    Alone alone;
    const auto optimizer = make_device_optimizer(policy, {0, size}, alone);
    EXPECT_EQ(take_steps(*optimizer, policy, alone, 1, 1), 2)
        << "the first sum is repeated with other exponents";
    take_another_order();
    take_steps(*optimizer, policy, alone, 2, 2);
    const End got = end_of(*optimizer, size);
    EXPECT_EQ(got.norm, expected.norm);
    EXPECT_GT(got.norm, kSettings.max_grad_norm) << "clipping is a part of this";
    EXPECT_EQ(got.weights, expected.weights) << name_of(family);
    EXPECT_TRUE(got.m == expected.m && got.v == expected.v && got.exponents == expected.exponents)
        << name_of(family);
    EXPECT_TRUE(std::ranges::equal(weights->span(), random_weights(config, 8)))
        << "the host's weights changed";
    const auto made = std::make_shared<AlignedFloats>(std::span<const float>(expected.weights));
    const MicroBatch micro_batch = random_micro_batch(config, {6}, 3);
    EXPECT_EQ(forward(policy, micro_batch, 1.0).logprob,
              forward(policy_of(config, made), micro_batch, 1.0).logprob)
        << "other weights run than were made";
  }
}

TEST(DeviceOptimizer, GoesOnFromWhatWasSaved) {
  const ModelConfig config = small_config(Family::qwen3);
  const std::int64_t size = weight_layout(config).size;
  const End expected = of_the_host(config, 2);
  Alone alone;
  const auto weights = first_weights(config);
  const PolicyModel policy = policy_of(config, weights);
  const auto before = make_device_optimizer(policy, {0, size}, alone);
  take_steps(*before, policy, alone, 1, 1);
  const End saved = end_of(*before, size);
  const auto again = std::make_shared<AlignedFloats>(std::span<const float>(saved.weights));
  const PolicyModel resumed = policy_of(config, again);
  const auto after = make_device_optimizer(resumed, {0, size}, alone);
  after->restore(saved.exponents, before->state()->step,
                 [&](std::span<float> m, std::span<float> v) {
                   std::ranges::copy(saved.m, m.begin());
                   std::ranges::copy(saved.v, v.begin());
                 });
  EXPECT_EQ(take_steps(*after, resumed, alone, 2, 2), 1) << "exponents were not taken over";
  const End got = end_of(*after, size);
  EXPECT_TRUE(got.weights == expected.weights && got.m == expected.m && got.v == expected.v);
  after->forget();
  const auto forgotten = after->state();
  EXPECT_TRUE(forgotten->m == std::vector<float>(got.m.size()) && forgotten->v == forgotten->m &&
              forgotten->step == 0);
}

/// The other ranks of three, as this one meets them: they add nothing to sums, and know how the
/// step ends.
class Others final : public Collectives {
 public:
  Others(int rank, const WeightLayout& layout, const End& end, std::int64_t& checksum)
      : rank_(rank), layout_(&layout), end_(&end), checksum_(&checksum) {
    context_.stream = cuda::new_stream();  // as transports have: what waits for nobody else
  }
  bool corrupt = false;
  std::size_t parts() const { return parts_; }
  int windows() const { return windows_; }
  std::int64_t micro_batches() const { return micro_batches_; }
  std::vector<std::int64_t> begins() const { return {0, kBlock, 2 * kBlock, layout_->size}; }

  int rank() const override { return rank_; }
  int size() const override { return 3; }
  /// Behind the largest elements: the micro-batches of each rank, by whose number exponents leave
  /// room for sums.
  void maximum(std::span<double> values) override {
    micro_batches_ = std::int64_t(values[values.size() - 3 + std::size_t(rank_)]);
  }
  void barrier() override {}
  void sum(std::span<std::int64_t> values) override {
    for (std::size_t b = 0; values.size() == end_->squares.size() && b < values.size(); ++b)
      values[b] = values[b] == 0 ? end_->squares[b] : values[b];
  }
  void broadcast(std::span<std::byte> bytes, int) override {
    if (rank_ == 0) std::memcpy(checksum_, bytes.data(), bytes.size());
    else std::memcpy(bytes.data(), checksum_, bytes.size());
  }
  void sum_to_shares(std::span<std::int64_t> values,
                     std::span<const std::int64_t> begins) override {
    // undefined, says the contract
    const auto own = replace(values, begins, std::vector<std::int64_t>(values.size(), 12345));
    // head, norm, two blocks, embedding; two micro-batches and none
    const std::size_t of_a_micro_batch = 2 + 2 + 1, micro_batch = parts_ / of_a_micro_batch % 3;
    // with exponents that hold the gradient
    const bool repeated = parts_ >= 3 * of_a_micro_batch;
    auto& before = sums_[parts_++ % of_a_micro_batch];
    EXPECT_TRUE(micro_batch != 1 || !repeated || own.empty() || own != before)
        << "a micro-batch is not in what the others read";
    EXPECT_TRUE(micro_batch != 2 || own == before) << "nothing changes a sum, and it does";
    before = own;
  }
  /// Windows come in the order of the layout, and begin and end with weights.
  void gather_shares(std::span<float> values, std::span<const std::int64_t> begins) override {
    const auto holds = [&](const Slice& slice) { return next_ < slice.offset + slice.count; };
    const auto slice = std::ranges::find_if(layout_->slices, holds);
    next_ = slice == layout_->slices.end() ? 0 : std::max(next_, slice->offset);
    std::vector<float> theirs(end_->weights.begin() + next_,
                              end_->weights.begin() + next_ + std::int64_t(values.size()));
    const std::size_t other = rank_ == 2 ? 1 : 2;
    // the last one alone
    if (corrupt && begins[other] < begins[other + 1])
      theirs[std::size_t(begins[other + 1] - 1)] += 1.0F;
    const auto own = replace(values, begins, theirs);
    EXPECT_TRUE(std::equal(own.begin(), own.end(), theirs.begin() + begins[std::size_t(rank_)]))
        << "other weights go to the others than are made";
    next_ += std::int64_t(values.size()), ++windows_;
  }

 private:
  /// What the own share is to the others, who read it now.
  template <class T>
  std::vector<T> replace(std::span<T> values, std::span<const std::int64_t> begins,
                         const std::vector<T>& theirs) {
    const auto begin = std::size_t(begins[std::size_t(rank_)]),
               end = std::size_t(begins[std::size_t(rank_) + 1]);
    std::vector<T> own(end - begin);
    cuda::copy_to_host(context_, own.data(), values.data() + begin, own.size() * sizeof(T));
    cuda::wait(context_);
    cuda::copy_to_device(context_, values.data() + begin, own.data(), own.size() * sizeof(T));
    cuda::copy_to_device(context_, values.data(), theirs.data(), begin * sizeof(T));
    cuda::copy_to_device(context_, values.data() + end, theirs.data() + end,
                         (values.size() - end) * sizeof(T));
    cuda::wait(context_);
    return own;
  }

  int rank_, windows_ = 0;
  std::size_t parts_ = 0;
  /// of each part, as they were last handed over
  std::map<std::size_t, std::vector<std::int64_t>> sums_;
  std::int64_t micro_batches_ = 0;
  std::int64_t next_ = 0;  ///< where the next window begins
  const WeightLayout* layout_;
  const End* end_;
  std::int64_t* checksum_;
  kernels::ExecutionContext context_;
};

TEST(DeviceOptimizer, AnyOfThreeRanksMakesItsShareOfTheSameStep) {
  const ModelConfig config = small_config(Family::qwen2);
  const WeightLayout layout = weight_layout(config);
  ASSERT_GT(layout.size, 2 * kBlock);
  const End expected = of_the_host(config, 1);
  std::int64_t checksum = 0;
  for (int rank = 0; rank < 3; ++rank) {
    Others ranks(rank, layout, expected, checksum);
    const auto begins = ranks.begins();
    const auto weights = first_weights(config);
    const PolicyModel policy = policy_of(config, weights);
    const auto optimizer = make_device_optimizer(policy, begins, ranks);
    const int attempts = take_steps(*optimizer, policy, ranks, 1, 1);
    EXPECT_EQ(ranks.parts(), std::size_t(attempts) * 3 * 5) << "two leaves and none of five parts";
    EXPECT_EQ(ranks.micro_batches(), 2);
    EXPECT_GT(ranks.windows(), 2);
    const End got = end_of(*optimizer, layout.size);
    const auto share = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + begins[std::size_t(rank)],
                                all.begin() + begins[std::size_t(rank) + 1]);
    };
    EXPECT_EQ(got.norm, expected.norm);
    EXPECT_EQ(got.m, share(expected.m)) << rank;
    EXPECT_EQ(got.v, share(expected.v)) << rank;
    EXPECT_EQ(got.weights, expected.weights) << rank;
    const auto made = std::make_shared<AlignedFloats>(std::span<const float>(expected.weights));
    const MicroBatch micro_batch = random_micro_batch(config, {6}, 3);
    EXPECT_EQ(forward(policy, micro_batch, 1.0).logprob,
              forward(policy_of(config, made), micro_batch, 1.0).logprob)
        << rank;
    optimizer->fetch({});  // for the others' sake
    if (rank == 0) continue;
    ranks.corrupt = true;
    EXPECT_THROW(end_of(*optimizer, layout.size), ProtocolError) << rank;
  }
}

}  // namespace
}  // namespace rollcall::model::testing
