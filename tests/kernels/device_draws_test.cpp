// Draws on the device: by inverse CDF from all ids, from the most probable ones, and the most
// probable.
#include "on_device.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rollcall::kernels {
namespace {

/// Each u draws the token at which the running sum of probabilities passes it; next to a border
/// either side is right.
TEST(DeviceSample, DrawsByInverseCdf) {
  for (const std::int64_t v : {1, 5, 1024, 2100}) {
    const std::int64_t n = 12;
    Floats logits = random_floats(n * v, 6, 2.0F), u;
    for (std::int64_t i = 0; i < n; ++i) u.push_back(float(i) / float(n));
    if (v > 2)
      for (std::int64_t i = 0; i < n; ++i)
        logits[std::size_t(i * v + 1)] = -std::numeric_limits<float>::infinity();
    const OnDevice<float> on_logits(logits), on_u(u), logprob(n), entropy(n), lse(n);
    const OnDevice<std::int32_t> target(std::vector<std::int32_t>(std::size_t(n), 0)), token(n);
    const OnDevice<BlockMass> blocks(n * (vocabulary_blocks(v) + 1));
    ExecutionContext context;
    cuda::token_columns(context, on_logits, n, v, 0.8F, target, logprob, entropy, lse, blocks);
    const std::int64_t ids = v == 2100 ? 1500 : v;  // a tokenizer may have fewer than the model
    const OnDevice<float> of_drawn(n), again(n);
    cuda::sample(context, on_logits, n, v, {ids, 0.8F}, blocks, on_u, token, of_drawn);
    const auto drawn = token.values();
    const OnDevice<std::int32_t> on_drawn(drawn);
    cuda::token_columns(context, on_logits, n, v, 0.8F, on_drawn, again, entropy, lse, blocks);
    EXPECT_TRUE(same_bits(of_drawn.values(), again.values()));
    for (std::int64_t i = 0; i < n; ++i) {
      double all = 0, before = 0;
      const auto weight = [&](std::int64_t j) {
        return std::exp(0.8 * logits[std::size_t(i * v + j)]);
      };
      for (std::int64_t j = 0; j < ids; ++j) all += weight(j);
      const std::int32_t chosen = drawn[std::size_t(i)];
      ASSERT_TRUE(chosen >= 0 && chosen < ids && weight(chosen) > 0) << chosen;
      for (std::int64_t j = 0; j < chosen; ++j) before += weight(j);
      EXPECT_LE(before / all, u[std::size_t(i)] + 1e-5) << v << ' ' << i;
      EXPECT_GE((before + weight(chosen)) / all, u[std::size_t(i)] - 1e-5) << v << ' ' << i;
    }
  }
}

TEST(DeviceSample, WithoutUTheFirstOfTheMostProbable) {
  const std::int64_t n = 4, v = 1100, ids = 1060;
  Floats logits = random_floats(n * v, 7);
  std::vector<std::int32_t> expected{0, 33, 1059, 1024};
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t j :
         {std::int64_t(expected[std::size_t(i)]), std::int64_t(1059), std::int64_t(1070)})
      // of equals the first; not of ids that the tokenizer lacks
      if (j >= expected[std::size_t(i)]) logits[std::size_t(i * v + j)] = 50.0F;
  }
  const OnDevice<float> on_logits(logits), logprob(n), entropy(n), lse(n);
  const OnDevice<std::int32_t> none(std::vector<std::int32_t>(std::size_t(n), -1)), token(n);
  const OnDevice<BlockMass> blocks(n * (vocabulary_blocks(v) + 1));
  ExecutionContext context;
  cuda::token_columns(context, on_logits, n, v, 1.0F, none, logprob, entropy, lse, blocks);
  cuda::sample(context, on_logits, n, v, {ids, 1.0F}, blocks, nullptr, token, logprob);
  EXPECT_EQ(token.values(), expected);
}

/// Against a sort: the tokens that may be drawn, by id, at shares of their mass; next to a border
/// either side is right.
TEST(DeviceSample, TruncatedDrawsAreThoseOfASort) {
  struct Case {
    std::int64_t v, ids, top_k;
    float top_p;
  };
  for (const auto& [v, ids, top_k, top_p] : std::vector<Case>{{50, 50, 7, 1.0F},
                                                              {50, 50, 0, 0.6F},
                                                              {1100, 1060, 20, 0.5F},
                                                              {300, 300, 1, 1.0F},
                                                              {40, 40, 39, 0.999F}}) {
    const std::int64_t n = 6;
    Floats logits = random_floats(n * v, 8, 1.5F), u;
    for (std::int64_t i = 0; i < n; ++i) u.push_back(float(i) / float(n));
    // many equal ones
    for (std::int64_t i = 0; i < n * v; ++i)
      logits[std::size_t(i)] = std::round(logits[std::size_t(i)] * 4.0F) / 4.0F;
    const OnDevice<float> on_logits(logits), on_u(u), logprob(n), entropy(n), lse(n);
    const OnDevice<std::int32_t> none(std::vector<std::int32_t>(std::size_t(n), -1)), token(n);
    const OnDevice<BlockMass> blocks(n * (vocabulary_blocks(v) + 1));
    ExecutionContext context;
    cuda::token_columns(context, on_logits, n, v, 0.9F, none, logprob, entropy, lse, blocks);
    cuda::sample(context, on_logits, n, v, {ids, 0.9F, top_k, top_p}, blocks, on_u, token, logprob);
    const auto drawn = token.values();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto weight = [&](std::int64_t j) {
        return std::exp(0.9 * logits[std::size_t(i * v + j)]);
      };
      std::vector<std::int64_t> order(static_cast<std::size_t>(ids));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int64_t a, std::int64_t b) { return weight(a) > weight(b); });
      if (top_k > 0) order.resize(std::size_t(top_k));
      double all = 0, reached = 0;
      for (const std::int64_t j : order) all += weight(j);
      std::size_t kept = 0;
      while (kept < order.size() && reached < double(top_p) * all - 1e-6 * all)
        reached += weight(order[kept++]);
      order.resize(kept);
      std::sort(order.begin(), order.end());
      const auto place = std::find(order.begin(), order.end(), drawn[std::size_t(i)]);
      ASSERT_NE(place, order.end())
          << v << ' ' << top_k << ' ' << top_p << " drew " << drawn[std::size_t(i)];
      double before = 0;
      for (auto at = order.begin(); at != place; ++at) before += weight(*at);
      EXPECT_LE(before / reached, u[std::size_t(i)] + 1e-4) << v << ' ' << i;
      EXPECT_GE((before + weight(*place)) / reached, u[std::size_t(i)] - 1e-4) << v << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace rollcall::kernels
