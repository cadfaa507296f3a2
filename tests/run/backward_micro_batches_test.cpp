// Micro-batches of the backward pass: trees in which what rollouts begin with alike stands once,
// with the gradient that the rollouts have apart.
#include "model/small_models.hpp"
#include "run/random_batch.hpp"
#include "run/step/micro_batch_packing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace rollcall::run {
namespace {

/// A derivative that is zero throughout for about a third of the rollouts, in one column only for
/// another.
model::ColumnGradient patchy_derivative(const Flat& flat, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 9);
  model::ColumnGradient derivative{std::vector<float>(flat.logprob.size()),
                                   std::vector<float>(flat.logprob.size())};
  for (std::size_t i = 0; i < flat.rollouts.size(); ++i) {
    const auto kind = stream.below(i, 3);
    for (std::int64_t t = flat.offsets[i]; t < flat.offsets[i + 1]; ++t) {
      if (kind == 0) derivative.logprob[std::size_t(t)] = float(t + 1);
      if (kind == 1 && t + 1 == flat.offsets[i + 1]) derivative.entropy[std::size_t(t)] = -1.0F;
    }
  }
  return derivative;
}

/// All places of a rollout up to and with one, in bytes: what two rollouts have in common is equal,
/// and nothing else is.
struct Prefixes {
  std::string all;
  void append(std::int32_t token, bool learnt, float logprob, std::span<const std::int32_t> kept) {
    for (const std::uint32_t part :
         {std::uint32_t(token), std::uint32_t(learnt), std::bit_cast<std::uint32_t>(logprob),
          std::uint32_t(kept.size())})
      all.append(reinterpret_cast<const char*>(&part), sizeof(part));
    all.append(reinterpret_cast<const char*>(kept.data()), kept.size_bytes());
  }
};
struct Column {
  bool learnt = false;
  float logprob = 0.0F;
  double dlogprob = 0.0, dentropy = 0.0;
};
/// A micro-batch by plain loops: each place once, by its prefix.
using Places = std::map<std::string, Column>;

/// Few tokens, so that rollouts begin alike, and log-probs that follow from what stands before, as
/// do
/// lists of kept tokens; those of some rollouts are another policy's.
void make_alike(StepBatch& batch, std::int32_t vocabulary,
                const std::vector<std::int32_t>& beginning) {
  for (auto& group : batch.groups)
    for (auto& rollout : group.rollouts) {
      auto& prompt = rollout.turns.front().tokens;
      prompt.insert(prompt.begin(), beginning.begin(), beginning.end());
      std::uint64_t before = rollout.sample % 4 == 0 ? 1 : 0;
      for (auto& turn : rollout.turns) {
        turn.kept = {};
        for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
          turn.tokens[t] %= vocabulary;
          before = RandomStream(before, RandomPurpose::test, std::uint64_t(turn.tokens[t]),
                                std::uint64_t(turn.role))
                       .bits(0);
          if (turn.role == Role::policy)
            turn.columns.logprob[t] = before % 3 == 0 ? 0.0F : -float(before % 1000);
          if (turn.role == Role::policy && before % 4 != 0)
            turn.kept.put(t,
                          std::vector{turn.tokens[t], turn.tokens[t] + std::int32_t(before % 4)});
        }
      }
    }
}

/// What a micro-batch says, place by place.
Places places_of(const BackwardMicroBatch& made) {
  const model::MicroBatch& micro_batch = made.micro_batch;
  Places places;
  std::vector<std::string> ends;  // of the sequences
  std::size_t target = 0;
  for (std::size_t s = 0; s < micro_batch.parents.size(); ++s) {
    RC_ASSERT(micro_batch.offsets[s + 1] > micro_batch.offsets[s]);
    RC_ASSERT(micro_batch.parents[s] < std::int64_t(s));
    Prefixes prefix{micro_batch.parents[s] < 0 ? std::string()
                                               : ends[std::size_t(micro_batch.parents[s])]};
    for (std::int64_t at = micro_batch.offsets[s]; at < micro_batch.offsets[s + 1]; ++at) {
      Column column{target < micro_batch.targets.size() && micro_batch.targets[target] == at};
      if (column.learnt) {
        column = {true, made.derivative.at_logprob.at(target),
                  double(made.derivative.by.logprob.at(target)),
                  double(made.derivative.by.entropy.at(target))};
        ++target;
      }
      prefix.append(
          micro_batch.tokens.at(std::size_t(at)), column.learnt, column.logprob,
          column.learnt ? micro_batch.kept.of(target - 1) : std::span<const std::int32_t>());
      RC_ASSERT(places.emplace(prefix.all, column).second);  // it stands once
    }
    ends.push_back(prefix.all);
  }
  RC_ASSERT(target == micro_batch.targets.size());
  RC_ASSERT(micro_batch.targets.size() == made.derivative.at_logprob.size());
  RC_ASSERT(std::size_t(micro_batch.offsets.back()) == micro_batch.tokens.size());
  return places;
}

/// Two texts that are the same token for token; one was missed by draws in its second place, and
/// learns from that alone.
TEST(BackwardMicroBatches, PlacesWithDrawsOfTheirOwnStandApart) {
  StepBatch batch = random_batch(3, 1);
  batch.groups.resize(1), batch.scores.resize(1);
  Group& group = batch.groups[0];
  group.rollouts.resize(1), batch.scores[0].resize(1);
  group.rollouts[0].turns = {{Role::prompt, {1, 2}},
                             {Role::policy, {5, 6, 7}, {{-1, -2, -3}, {1, 1, 1}}, {0, 0, 0}}};
  group.rollouts.push_back(group.rollouts[0]), batch.scores[0].push_back(batch.scores[0][0]);
  Turn& missed = group.rollouts[1].turns[1];
  missed.missed.put(1, {std::vector<std::int32_t>{3, 9}, std::vector<float>{0.25F, 0.5F}});
  missed.columns.miss_logprob = {0.0F, -4.0F, 0.0F};
  const model::ColumnGradient derivative{
      {1, 1, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 2, 0}};
  const auto micro_batches = backward_micro_batches(
      batch, {0}, {derivative, std::vector<float>{-1, -2, -3, -1, -2, -3}}, 100);
  ASSERT_EQ(micro_batches.size(), 1U);
  const auto& made = micro_batches[0];
  EXPECT_EQ(made.micro_batch.tokens, (std::vector<std::int32_t>{1, 2, 5, 6, 7, 6, 7}));
  EXPECT_EQ(made.derivative.by.logprob, (std::vector<float>{1, 1, 1, 0, 0}));
  EXPECT_EQ(made.derivative.by.miss_logprob, (std::vector<float>{0, 0, 0, 2, 0}));
  EXPECT_TRUE(
      std::ranges::equal(made.micro_batch.missed.of(3).id, std::vector<std::int32_t>{3, 9}));
  EXPECT_TRUE(made.micro_batch.missed.of(4).empty());
  const auto train = make_train_batch(batch, {0}, 100, 8);
  EXPECT_EQ(train.micro_batches.at(0).stored.miss_logprob, (std::vector<float>{0, 0, 0, 0, -4, 0}));
  EXPECT_TRUE(std::ranges::equal(train.micro_batches.at(0).micro_batch.missed.of(4).share,
                                 std::vector<float>{0.25F, 0.5F}));
}

TEST(BackwardMicroBatches, HoldWhatHasADerivativeOnceAndNothingElse) {
  EXPECT_TRUE(rc::check(
      "every rollout with a derivative, in order; what they begin with alike once, with the sum of the derivatives",
      [] {
        StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                       std::size_t(*rc::gen::inRange(1, 20)));
        make_alike(batch, *rc::gen::element(1, 2, 5, 300),
                   std::vector<std::int32_t>(std::size_t(*rc::gen::element(0, 1, 40)), 7));
        const auto groups = mini_batch(batch, 0, 1);
        const auto micro_batch_tokens = *rc::gen::inRange<std::int64_t>(1, 200);
        const Flat flat = flatten(batch, groups);
        const auto derivative =
            patchy_derivative(flat, *rc::gen::inRange<std::uint64_t>(0, 1U << 30));
        const std::vector<float> logprob(flat.logprob.begin(), flat.logprob.end());
        const auto micro_batches =
            backward_micro_batches(batch, groups, {derivative, logprob}, micro_batch_tokens);

        std::vector<Places> expected;
        for (std::size_t i = 0; i < flat.rollouts.size(); ++i) {
          const auto first = std::size_t(flat.offsets[i]), last = std::size_t(flat.offsets[i + 1]);
          bool trained = false;
          for (std::size_t c = first; c < last; ++c)
            trained = trained || derivative.logprob[c] != 0.0F || derivative.entropy[c] != 0.0F;
          if (!trained) continue;
          Places own;
          Prefixes prefix;
          std::size_t c = first;
          for (const auto& turn : flat.rollouts[i]->turns)
            for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
              Column column;
              if (turn.role == Role::policy)
                column = {true, logprob[c], double(derivative.logprob[c]),
                          double(derivative.entropy[c])},
                ++c;
              prefix.append(turn.tokens[t], column.learnt, column.logprob, turn.kept.of(t));
              own[prefix.all] = column;
            }
          const auto growth = [&](const Places& micro_batch) {
            return std::count_if(own.begin(), own.end(), [&](const auto& place) {
              return !micro_batch.contains(place.first);
            });
          };
          const auto more = expected.empty() ? 1 : growth(expected.back());
          if (expected.empty() ||
              (more > 0 && std::int64_t(expected.back().size()) + more > micro_batch_tokens))
            expected.emplace_back();
          for (const auto& [key, column] : own) {
            Column& kept = expected.back()[key];
            kept = {column.learnt, column.logprob, kept.dlogprob + column.dlogprob,
                    kept.dentropy + column.dentropy};
          }
        }
        RC_ASSERT(micro_batches.size() == expected.size());
        for (std::size_t l = 0; l < micro_batches.size(); ++l) {
          const Places made = places_of(micro_batches[l]);
          RC_ASSERT(made.size() == expected[l].size());
          for (const auto& [key, column] : expected[l]) {
            RC_ASSERT(made.contains(key));
            RC_ASSERT(made.at(key).dlogprob == double(float(column.dlogprob)));
            RC_ASSERT(made.at(key).dentropy == double(float(column.dentropy)));
          }
          const auto again = l == 0 ? 0
                                    : std::count_if(expected[l].begin(), expected[l].end(),
                                                    [&](const auto& place) {
                                                      return expected[l - 1].contains(place.first);
                                                    });
          RC_ASSERT(micro_batches[l].repeated == std::int64_t(again));
        }
      }));
}

/// Two answers of a group that part behind their second token, and one that ends where the others
/// go on: by hand.
TEST(BackwardMicroBatches, ATreeByHand) {
  const auto rollout = [](std::uint32_t sample, std::vector<std::int32_t> answer,
                          std::vector<float> logprob) {
    const Turn prompt{.role = Role::prompt, .tokens = {1, 2, 3}};
    const std::vector<std::uint64_t> versions(answer.size(), 0);
    const std::vector<float> entropy(answer.size(), 1.0F);
    return Rollout{
        .sample = sample,
        .finish = FinishReason::stop,
        .turns = {prompt,
                  {Role::policy, std::move(answer), {std::move(logprob), entropy}, versions}},
        .text = ""};
  };
  StepBatch batch;
  batch.groups.push_back(
      {.id = {1, {0}, 0},
       .level = 0,
       .rollouts = {rollout(0, {5, 6, 7}, {-1, -2, -3}), rollout(1, {5, 6, 8, 9}, {-1, -2, -4, -5}),
                    rollout(2, {5}, {-1})}});
  batch.scores.push_back({Score{}, Score{}, Score{}});
  const model::ColumnGradient derivative{{1, 2, 3, 10, 20, 30, 40, 100}, {0, 0, 0, 0, 0, 0, 0, 0}};
  const std::vector<float> logprob{-1, -2, -3, -1, -2, -4, -5, -1};
  const auto micro_batches = backward_micro_batches(batch, {0}, {derivative, logprob}, 100);
  ASSERT_EQ(micro_batches.size(), 1U);
  const auto& [micro_batch, sums, repeated] = micro_batches.front();
  EXPECT_EQ(micro_batch.tokens, (std::vector<std::int32_t>{1, 2, 3, 5, 6, 7, 8, 9}));
  EXPECT_EQ(micro_batch.offsets, (std::vector<std::int64_t>{0, 5, 6, 8}));
  EXPECT_EQ(micro_batch.parents, (std::vector<std::int64_t>{-1, 0, 0}));
  EXPECT_EQ(micro_batch.targets, (std::vector<std::int64_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(sums.by.logprob, (std::vector<float>{111, 22, 3, 30, 40}));
  EXPECT_EQ(sums.at_logprob, (std::vector<float>{-1, -2, -3, -4, -5}));
  EXPECT_EQ(repeated, 0);
  // Room for eight tokens less one: the second answer needs a micro-batch of its own, in which the
  // third begins with it.
  const auto cut = backward_micro_batches(batch, {0}, {derivative, logprob}, 7);
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[0].micro_batch.tokens, (std::vector<std::int32_t>{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(cut[1].derivative.by.logprob, (std::vector<float>{110, 20, 30, 40}));
  EXPECT_EQ(cut[1].repeated, 5);
}

/// Sequences that continue one come in the order of their first rollout, also where one of them was
/// cut later.
TEST(BackwardMicroBatches, SiblingsStandInTheOrderOfTheirRollouts) {
  StepBatch batch = random_batch(1, 1);
  auto& rollouts = batch.groups.front().rollouts;
  const std::vector<std::vector<std::int32_t>> answers{{5, 6, 7}, {8}, {9}, {5, 6, 4}, {5, 3}};
  rollouts.assign(answers.size(), rollouts.front());
  std::vector<float> logprob;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::vector<float> ones(answers[i].size(), -1.0F);
    rollouts[i].turns = {
        {Role::prompt, {1}},
        {Role::policy, answers[i], {ones, ones}, std::vector<std::uint64_t>(ones.size(), 0)}};
    logprob.insert(logprob.end(), ones.begin(), ones.end());
  }
  const model::ColumnGradient derivative{std::vector<float>(logprob.size(), 1.0F),
                                         std::vector<float>(logprob.size(), 0.0F)};
  const auto micro_batches = backward_micro_batches(batch, {0}, {derivative, logprob}, 100);
  ASSERT_EQ(micro_batches.size(), 1U);
  EXPECT_EQ(micro_batches.front().micro_batch.tokens,
            (std::vector<std::int32_t>{1, 5, 6, 7, 4, 3, 8, 9}));
  EXPECT_EQ(micro_batches.front().micro_batch.offsets,
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(micro_batches.front().micro_batch.parents,
            (std::vector<std::int64_t>{-1, 0, 1, 2, 2, 1, 0, 0}));
  EXPECT_EQ(micro_batches.front().derivative.by.logprob, (std::vector<float>{3, 2, 1, 1, 1, 1, 1}));
}

/// A repeated answer needs no room, also where the micro-batch is too full for any other.
TEST(BackwardMicroBatches, WhatIsThereOpensNoMicroBatch) {
  StepBatch batch = random_batch(1, 1);
  batch.groups.front().rollouts.assign(3, batch.groups.front().rollouts.front());
  auto& turns = batch.groups.front().rollouts.front().turns;
  turns = {{Role::prompt, {1, 2}}, {Role::policy, {3, 4}, {{-1, -2}, {1, 1}}, {0, 0}}};
  for (auto& rollout : batch.groups.front().rollouts) rollout.turns = turns;
  const model::ColumnGradient derivative{std::vector<float>(6, 1.0F), std::vector<float>(6, 0.0F)};
  const auto micro_batches = backward_micro_batches(
      batch, {0}, {derivative, std::vector<float>{-1, -2, -1, -2, -1, -2}}, 1);
  ASSERT_EQ(micro_batches.size(), 1U);
  EXPECT_EQ(micro_batches.front().derivative.by.logprob, (std::vector<float>{3, 3}));
}

/// It must reach the gradient sum, which stops the step.
TEST(BackwardMicroBatches, ADerivativeThatIsNoNumberIsKept) {
  StepBatch batch = random_batch(1, 1);
  batch.groups.front().rollouts.resize(1);
  batch.groups.front().rollouts.front().turns = {
      {Role::prompt, {1, 2}}, {Role::policy, {3, 4}, {{-1, -2}, {1, 1}}, {0, 0}}};
  const model::ColumnGradient derivative{{0.0F, std::numeric_limits<float>::quiet_NaN()},
                                         {0.0F, 0.0F}};
  const auto micro_batches =
      backward_micro_batches(batch, {0}, {derivative, std::vector<float>{-1, -2}}, 100);
  ASSERT_EQ(micro_batches.size(), 1U);
  EXPECT_TRUE(std::isnan(micro_batches.front().derivative.by.logprob.back()));
}

/// As many rollouts of ten tokens as asked for, and before each so many that are alike: the sizes
/// of their leaves.
std::vector<std::size_t> even_sizes(std::size_t rollouts, std::int64_t micro_batch_tokens,
                                    std::size_t alike = 0) {
  StepBatch batch = random_batch(1, 1);
  auto& all = batch.groups.front().rollouts;
  all.assign(rollouts, all.front());
  const std::vector<float> ones(8, -1.0F);
  for (std::size_t i = 0; i < rollouts; ++i) {
    std::vector<std::int32_t> prompt(alike, 2);
    prompt.insert(prompt.end(), {std::int32_t(i), 1});
    all[i].turns = {
        {Role::prompt, prompt},
        {Role::policy, {3, 4, 5, 6, 7, 8, 9, 10}, {ones, ones}, std::vector<std::uint64_t>(8, 0)}};
  }
  const std::vector<float> logprob(8 * rollouts, -1.0F);
  const model::ColumnGradient derivative{logprob, std::vector<float>(logprob.size())};
  const auto cut = [&](std::int64_t limit) {
    return backward_micro_batches(batch, {0}, {derivative, logprob}, limit);
  };
  std::vector<std::size_t> sizes;
  for (const auto& micro_batch : even_micro_batches(micro_batch_tokens, cut))
    sizes.push_back(micro_batch.micro_batch.tokens.size());
  return sizes;
}

/// Three micro-batches of 300 + 20 x 10 tokens would be four of 300 + 15 x 10, which runs 20 % more
/// tokens.
TEST(EvenMicroBatches, RepeatNoLongPrompt) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(even_sizes(60, 500, 300), (Sizes{500, 500, 500}));
  // in steps of a sixteenth of an even share
  EXPECT_EQ(even_sizes(50, 500, 300), (Sizes{490, 490, 420}));
  EXPECT_EQ(even_sizes(60, 250, 5), (Sizes{155, 155, 155, 155}));
}

TEST(EvenMicroBatches, AreAsLargeAsEachOther) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(even_sizes(12, 100), (Sizes{60, 60}));              // not 100 and 20
  EXPECT_EQ(even_sizes(25, 1000), (Sizes{250}));                // two would be small
  EXPECT_EQ(even_sizes(26, 1000), (Sizes{130, 130}));           // one would do, for one rank
  EXPECT_EQ(even_sizes(60, 250), (Sizes{150, 150, 150, 150}));  // not three
  EXPECT_EQ(even_sizes(110, 220), (Sizes{140, 140, 140, 140, 140, 140, 140, 120}));
  // of many a last one that is small costs little
  EXPECT_EQ(even_sizes(95, 100), (Sizes{100, 100, 100, 100, 100, 100, 100, 100, 100, 50}));
}

/// Where rollouts share beginnings and are of any length: a cut of backward_leaves(), of no more
/// micro-batches than wanted, under the smallest of its limits.
TEST(EvenMicroBatches, AreACutUnderASmallerLimit) {
  std::size_t evened = 0;
  EXPECT_TRUE(rc::check("even leaves are full leaves of a smaller size", [&] {
    StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                   std::size_t(*rc::gen::inRange(1, 40)));
    make_alike(batch, *rc::gen::element(2, 5, 300),
               std::vector<std::int32_t>(std::size_t(*rc::gen::element(0, 1, 40)), 7));
    const auto groups = mini_batch(batch, 0, 1);
    const auto micro_batch_tokens = *rc::gen::inRange<std::int64_t>(50, 2000);
    const Flat flat = flatten(batch, groups);
    const auto derivative = patchy_derivative(flat, *rc::gen::inRange<std::uint64_t>(0, 1U << 30));
    const std::vector<float> logprob(flat.logprob.begin(), flat.logprob.end());
    const auto cut = [&](std::int64_t limit) {
      return backward_micro_batches(batch, groups, {derivative, logprob}, limit);
    };
    const auto full = cut(micro_batch_tokens), even = even_micro_batches(micro_batch_tokens, cut);
    const auto largest = [](const std::vector<BackwardMicroBatch>& micro_batches) {
      std::size_t most = 0;
      for (const auto& micro_batch : micro_batches)
        most = std::max(most, micro_batch.micro_batch.tokens.size());
      return std::int64_t(most);
    };
    std::int64_t tokens = 0;
    for (const auto& micro_batch : full)
      tokens += std::int64_t(micro_batch.micro_batch.tokens.size());
    const std::int64_t count = sizing::micro_batch_count(std::int64_t(full.size()), tokens);
    RC_ASSERT(std::int64_t(even.size()) <= count);
    RC_ASSERT(largest(even) <= largest(full));
    const auto is_even = [&](const std::vector<BackwardMicroBatch>& made) {
      return std::equal(made.begin(), made.end(), even.begin(), even.end(),
                        [](const BackwardMicroBatch& one, const BackwardMicroBatch& other) {
                          return one.micro_batch.tokens == other.micro_batch.tokens &&
                                 one.derivative.by.logprob == other.derivative.by.logprob &&
                                 one.repeated == other.repeated;
                        });
    };
    std::int64_t limit = count == 0
                             ? micro_batch_tokens
                             : std::clamp<std::int64_t>(tokens / count, 1, micro_batch_tokens);
    while (limit < micro_batch_tokens && !is_even(cut(limit))) ++limit;
    RC_ASSERT(is_even(cut(limit)));
    if (largest(even) < largest(full)) ++evened;
  }));
  EXPECT_GT(evened, 5U);
}

/// The gradient of all rollouts in trees is that of each by itself.
TEST(BackwardMicroBatches, TreesHaveTheGradientOfTheirRollouts) {
  model::ModelConfig config = model::testing::small_config(model::testing::Family::qwen3);
  config.max_position_embeddings = 256;
  const model::PolicyModel policy(config, model::testing::random_weights(config, 3), {});
  for (const std::int32_t vocabulary : {1, 2, 5}) {
    StepBatch batch = random_batch(std::uint64_t(vocabulary), 12);
    make_alike(batch, vocabulary, {7, 7, 7});
    const auto groups = mini_batch(batch, 0, 1);
    const Flat flat = flatten(batch, groups);
    const std::vector<float> logprob(flat.logprob.begin(), flat.logprob.end());
    model::ColumnGradient derivative{std::vector<float>(logprob.size()),
                                     std::vector<float>(logprob.size())};
    for (std::size_t i = 0; i < logprob.size(); ++i)
      derivative.logprob[i] = 1 + std::sin(float(i)) / 2,
      derivative.entropy[i] = std::cos(float(i)) / 8;
    const auto gradient = [&](std::int64_t micro_batch_tokens, std::int64_t& tokens) {
      std::vector<double> sum(std::size_t(model::weight_layout(config).size));
      tokens = 0;
      for (const BackwardMicroBatch& each :
           backward_micro_batches(batch, groups, {derivative, logprob}, micro_batch_tokens)) {
        tokens += std::int64_t(each.micro_batch.tokens.size());
        model::forward_backward(
            policy, each.micro_batch, 0.7, each.derivative.by,
            [&](model::TensorId tensor, std::int64_t first, std::span<const float> values) {
              const auto at = std::size_t(
                  model::testing::offset_of(model::weight_layout(config), tensor) + first);
              for (std::size_t i = 0; i < values.size(); ++i) sum[at + i] += double(values[i]);
            });
      }
      return sum;
    };
    std::int64_t in_trees = 0, apart = 0;
    const auto whole = gradient(1 << 20, in_trees), alone = gradient(1, apart);
    EXPECT_LT(in_trees, apart * 3 / 4) << vocabulary;
    double error = 0.0, norm = 0.0;
    for (std::size_t i = 0; i < whole.size(); ++i)
      error += std::pow(whole[i] - alone[i], 2), norm += std::pow(alone[i], 2);
    EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(norm)) << vocabulary;
    EXPECT_GT(norm, 0.0);
  }
}

}  // namespace
}  // namespace rollcall::run
