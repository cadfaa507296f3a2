// Which weights train: the bits of a mask, what it does to gradient, norm, moments and weights, and
// that its shares are the whole.
#include "model/train/gradient_mask.hpp"

#include "base/errors/error.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/small_models.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/train/optimizer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace rollcall::model::testing {
namespace {

constexpr auto kBlock = std::int64_t(kernels::kNormBlock);

/// One rank alone.
class Alone final : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<std::int64_t>) override {}
  void maximum(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
};

WeightLayout one_matrix(std::int64_t count) {
  return {{{{0}, "w", {count}, 0, count, true}}, (count + 15) / 16 * 16};
}

WeightFiles files_of(const WeightLayout& layout, const std::vector<float>& weights) {
  return WeightFiles(SafetensorsFile::parse(to_model_safetensors(layout, weights), "a test"));
}

TEST(GradientMask, HoldsWhatMovedByMoreThanTheTolerance) {
  const WeightLayout layout{{{{0}, "a", {3}, 0, 3, true}, {{1}, "b", {2}, 16, 2, false}}, 32};
  std::vector<float> before(32, 0.0F), after(32, 0.0F);
  after[0] = 0.5F, after[1] = -0.25F, after[2] = 0.0F, after[16] = 1.0F, after[17] = 1e-6F;
  const auto mask =
      changed_weights(layout, files_of(layout, before), files_of(layout, after), 0.25, 0, 32);
  EXPECT_TRUE(mask.trains(0));
  EXPECT_FALSE(mask.trains(1));  // by 0.25 and no more
  EXPECT_FALSE(mask.trains(2));
  EXPECT_FALSE(mask.trains(3));  // padding
  EXPECT_TRUE(mask.trains(16));
  EXPECT_FALSE(mask.trains(17));
  EXPECT_EQ(mask.trained(), 2);
  EXPECT_EQ(changed_weights(layout, files_of(layout, before), files_of(layout, before), 0.0, 0, 32)
                .trained(),
            0);
}

/// However a model is dealt to ranks, their masks are parts of one, and rank 0's digest is that of
/// all.
TEST(GradientMask, OfSharesIsThatOfTheWhole) {
  const bool ok = rc::check([] {
    const auto size = *rc::gen::inRange<std::int64_t>(1, 5 * kBlock);
    const auto cut = *rc::gen::inRange<std::int64_t>(0, size / kBlock + 1) * kBlock;
    const auto layout = one_matrix(size);
    std::vector<float> before(std::size_t(layout.size), 0.0F), after = before;
    const auto moved =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, size));
    for (const auto at : moved) after[std::size_t(at)] = 1.0F;
    const auto first = files_of(layout, before), last = files_of(layout, after);
    const auto whole = changed_weights(layout, first, last, 0.0, 0, layout.size);
    auto hashes = changed_weights(layout, first, last, 0.0, 0, cut).block_hashes();
    const auto rest = changed_weights(layout, first, last, 0.0, cut, layout.size);
    const auto more = rest.block_hashes();
    hashes.insert(hashes.end(), more.begin(), more.end());
    RC_ASSERT(hashes == whole.block_hashes());
    RC_ASSERT(std::int64_t(hashes.size()) == (layout.size + kBlock - 1) / kBlock);
    for (std::int64_t at = cut; at < layout.size; ++at)
      RC_ASSERT(rest.trains(at) == (after[std::size_t(at)] != 0.0F));
    if (moved.empty()) return;
    after[std::size_t(moved.front())] = 0.0F;
    RC_ASSERT(
        mask_digest(changed_weights(layout, first, files_of(layout, after), 0.0, 0, layout.size)
                        .block_hashes()) != mask_digest(hashes));
  });
  EXPECT_TRUE(ok);
}

/// Gradient 3 and 4 on two weights of which the first is frozen: the norm is 4 and not 5, so
/// clipping at 2 halves; a frozen weight moves neither by its gradient, nor by decay, nor by a
/// moment that it had before.
TEST(GradientMask, FreezesAWeightInNormMomentsAndDecay) {
  const auto layout = one_matrix(2);
  std::vector<float> gradient(16, 0.0F), weights(16, 0.0F);
  gradient[0] = 3.0F, gradient[1] = 4.0F, weights[0] = weights[1] = 1.0F;
  auto mask = std::make_shared<GradientMask>(0, layout.size);
  mask->let_train(1);
  GradientSum sum(layout);
  sum.only(mask);
  Alone alone;
  auto outcome = SumOutcome::repeat;
  for (int attempt = 0; outcome == SumOutcome::repeat && attempt < 3; ++attempt) {
    sum.start();
    sum.add(gradient);
    outcome = sum.finish(alone);
  }
  ASSERT_EQ(outcome, SumOutcome::ready);
  EXPECT_DOUBLE_EQ(sum.gradient().norm, 4.0);
  EXPECT_EQ(sum.gradient().values[0], 0.0F);
  EXPECT_EQ(sum.gradient().values[1], 4.0F);

  const OptimizerSection settings{
      .beta1 = 0.5, .beta2 = 0.5, .eps = 0.0, .weight_decay = 0.5, .max_grad_norm = 2.0};
  OptimizerState state;
  apply_adamw(layout, settings, 0.1, sum.gradient(), weights, state);
  EXPECT_FLOAT_EQ(state.m[1], 0.5F * 4.0F / 2.0F);
  EXPECT_EQ(state.m[0], 0.0F);
  EXPECT_EQ(state.v[0], 0.0F);
  EXPECT_FLOAT_EQ(weights[1], 1.0F - 0.1F - 0.1F * 0.5F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(weights[0]), std::bit_cast<std::uint32_t>(1.0F));

  state.m[0] = 1.0F, state.v[0] = 1.0F;  // as a branch has them whose parent had no mask
  apply_adamw(layout, settings, 0.1, sum.gradient(), weights, state);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(weights[0]), std::bit_cast<std::uint32_t>(1.0F));
  sum.only(nullptr);
  apply_adamw(layout, settings, 0.1, {sum.gradient().values, 0, 4.0}, weights, state);
  EXPECT_NE(weights[0], 1.0F);
}

/// Where everything trains, a mask changes no bit; over several blocks the frozen keep theirs, and
/// the others get what they get without one.
TEST(GradientMask, LeavesTheOthersAsTheyAreWithoutIt) {
  const auto layout = one_matrix(2 * kBlock + 100);
  std::vector<float> gradient(std::size_t(layout.size), 0.0F), weights = gradient;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = float(i % 13) - 6.0F, weights[i] = float(i % 7) - 3.0F;
  const OptimizerSection settings{.weight_decay = 0.1, .max_grad_norm = 1.0};
  const auto after = [&](const GradientMask* mask) {
    auto result = weights;
    OptimizerState state;
    apply_adamw(layout, settings, 0.1, {gradient, 0, 3.0, mask}, result, state);
    return result;
  };
  GradientMask all(0, layout.size), some(0, layout.size);
  for (std::int64_t at = 0; at < layout.size; ++at) {
    all.let_train(at);
    if (at % 3 == 0) some.let_train(at);
  }
  const auto plain = after(nullptr), masked = after(&some);
  EXPECT_EQ(after(&all), plain);
  for (std::size_t i = 0; i < plain.size(); ++i)
    ASSERT_EQ(masked[i], i % 3 == 0 ? plain[i] : weights[i]) << i;
}

}  // namespace
}  // namespace rollcall::model::testing
