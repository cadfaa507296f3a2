// Columns and gradients against the plain transformer, and independence of threads and of what
// shares a micro-batch; what packed weights take.
#include "model/engine/packed_policy.hpp"
#include "model/plain_transformer.hpp"
#include "model/reference_models.hpp"
#include "model/small_models.hpp"
#include "model/support/huge_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace rollcall::model::testing {
namespace {

const std::vector<std::int64_t> kLengths = {9, 3, 1, 17, 2};

TEST(Forward, ColumnsAgreeWithThePlainTransformer) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const std::vector<float> weights = random_weights(config, 3);
    const MicroBatch micro_batch = random_micro_batch(config, kLengths, 4);
    const Columns columns = forward(PolicyModel(config, weights, {}), micro_batch, 0.8);
    const auto [logprob, entropy] = PlainTransformer(config, weights).columns(micro_batch, 0.8);
    ASSERT_EQ(columns.logprob.size(), micro_batch.targets.size());
    for (std::size_t i = 0; i < columns.logprob.size(); ++i) {
      EXPECT_NEAR(columns.logprob[i], logprob[std::int64_t(i)].item<double>(), 1e-4)
          << name_of(family) << " column " << i;
      EXPECT_NEAR(columns.entropy[i], entropy[std::int64_t(i)].item<double>(), 1e-4)
          << name_of(family) << " column " << i;
    }
  }
}

TEST(Forward, GradientAgreesWithThePlainTransformerInEveryTensor) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const std::vector<float> weights = random_weights(config, 5);
    const MicroBatch micro_batch = random_micro_batch(config, kLengths, 6);
    const ColumnGradient columns = random_columns(micro_batch.targets.size(), 7);
    const std::vector<float> gradient =
        gradient_of(PolicyModel(config, weights, {}), micro_batch, 1.3, columns);
    const std::vector<double> plain =
        PlainTransformer(config, weights).gradient(micro_batch, 1.3, columns);
    for (const Slice& slice : weight_layout(config).slices) {
      double error = 0.0, norm = 0.0;
      for (std::int64_t i = slice.offset; i < slice.offset + slice.count; ++i) {
        error += std::pow(gradient[std::size_t(i)] - plain[std::size_t(i)], 2);
        norm += std::pow(plain[std::size_t(i)], 2);
      }
      // A key's bias shifts all scores of a query alike, so its true gradient is zero but for the
      // rotation.
      EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(norm) + 1e-6)
          << name_of(family) << " " << slice.name;
      EXPECT_GT(norm, 0.0) << slice.name;
    }
  }
}

TEST(Forward, GradientByTheStatesIsThatOfAutograd) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const std::vector<float> weights = random_weights(config, 5);
    const MicroBatch micro_batch = random_micro_batch(config, kLengths, 6);
    for (const double temperature : {1.0, 0.7}) {
      const auto gradients =
          logprob_gradients(PolicyModel(config, weights, {}), micro_batch, temperature);
      const auto plain =
          PlainTransformer(config, weights).logprob_gradients(micro_batch, temperature);
      ASSERT_EQ(gradients.size(), kLengths.size() * std::size_t(config.hidden_size));
      ASSERT_EQ(plain.size(), gradients.size());
      for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_NEAR(gradients[i], plain[i], 1e-5) << name_of(family) << " " << i;
    }
  }
}

/// In micro-batches of more and of fewer targets than the head takes at a time, whatever the team.
TEST(Forward, ASequenceHasTheSameGradientByItsStatesInAnyCompany) {
  const ModelConfig config = small_config(Family::qwen3);
  const std::vector<std::int64_t> lengths = {40, 1, 30, 41, 50, 64, 64, 33};
  const MicroBatch together = random_micro_batch(config, lengths, 9);
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const PolicyModel policy(config, random_weights(config, 8), {}, kernel_sets(numerics).front());
    const auto all = logprob_gradients(policy, together, 0.9);
    Team team(3);
    team.lead(on_new_threads, [&] {
      MicroBatchRunner runner(team);
      runner.forward(policy, random_micro_batch(config, {5}, 1), 1.0);  // memory for less
      EXPECT_EQ(runner.logprob_gradients(policy, together, 0.9), all) << numerics;
    });
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      MicroBatch alone{.tokens = {together.tokens.begin() + together.offsets[s],
                                  together.tokens.begin() + together.offsets[s + 1]},
                       .offsets = {0, lengths[s]}};
      for (std::int64_t t = 2; t < lengths[s]; ++t) alone.targets.push_back(t);
      const auto own = std::span(all).subspan(s * std::size_t(config.hidden_size),
                                              std::size_t(config.hidden_size));
      EXPECT_EQ(logprob_gradients(policy, alone, 0.9), std::vector<double>(own.begin(), own.end()))
          << numerics << " " << s;
    }
  }
}

TEST(Forward, TrainingSeesTheColumnsOfScoring) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    // more than one chunk of the head
    const MicroBatch micro_batch = random_micro_batch(config, {40, 7, 30, 41, 50, 64, 64, 33}, 9);
    for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
      const Columns scored =
          forward(PolicyModel(config, random_weights(config, 8), {}, kernel_sets(numerics).front()),
                  micro_batch, 0.9);
      Columns trained;
      gradient_of(PolicyModel(config, random_weights(config, 8), {}, kernel_sets(numerics).back()),
                  micro_batch, 0.9, random_columns(micro_batch.targets.size(), 1), &trained);
      EXPECT_EQ(trained.logprob, scored.logprob) << numerics;
      EXPECT_EQ(trained.entropy, scored.entropy) << numerics;
    }
  }
}

TEST(PolicyModel, PackedBytesAreWhatItTakes) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
      const PolicyModel policy(config, random_weights(config, 1), {},
                               kernel_sets(numerics).front());
      EXPECT_EQ(packed_bytes(config, *kernel_sets(numerics).back()),
                std::int64_t(policy.packed().panels.size()))
          << name_of(family) << " " << numerics;
    }
  }
}

TEST(Forward, Bf16StaysNearFp32) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const MicroBatch micro_batch = random_micro_batch(config, kLengths, 6);
    const ColumnGradient columns = random_columns(micro_batch.targets.size(), 7);
    const PolicyModel full(config, random_weights(config, 5), {}),
        rounded(config, random_weights(config, 5), {},
                &kernels::selected_kernels(kernels::kBf16Sliced8));
    const Columns a = forward(full, micro_batch, 1.0), b = forward(rounded, micro_batch, 1.0);
    double largest = 0.0;
    for (std::size_t i = 0; i < a.logprob.size(); ++i)
      largest = std::max(largest, std::abs(double(a.logprob[i]) - b.logprob[i]));
    EXPECT_GT(largest, 1e-5) << "weights are rounded";
    EXPECT_LT(largest, 0.2);
    const std::vector<float> g = gradient_of(full, micro_batch, 1.0, columns),
                             h = gradient_of(rounded, micro_batch, 1.0, columns);
    double gg = 0.0, hh = 0.0, gh = 0.0;
    for (std::size_t i = 0; i < g.size(); ++i)
      gg += double(g[i]) * g[i], hh += double(h[i]) * h[i], gh += double(g[i]) * h[i];
    EXPECT_GT(gh / std::sqrt(gg * hh), 0.99) << name_of(family);
  }
}

/// More rows than a head takes at a time; what the distribution tells, against its logits in
/// double.
TEST(Forward, WideColumnsAreTheForwardsAndTheDistributions) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 41), {}),
      second(config, random_weights(config, 42), {});
  constexpr double kTemperature = 0.8;
  const MicroBatch micro_batch = random_micro_batch(config, std::vector<std::int64_t>(6, 60), 43);
  ASSERT_GT(std::int64_t(micro_batch.targets.size()), Backend::kHeadRows);
  const FullVocabColumns wide = forward_full_vocab(policy, &second, micro_batch, kTemperature),
                         alone = forward_full_vocab(policy, nullptr, micro_batch, kTemperature);
  const Columns columns = forward(policy, micro_batch, kTemperature);
  EXPECT_EQ(wide.columns.logprob, columns.logprob);
  EXPECT_EQ(wide.columns.entropy, columns.entropy);
  EXPECT_EQ(alone.sum_squares, wide.sum_squares);
  EXPECT_TRUE(alone.second_kl.empty());
  const auto distribution = [&](const std::vector<float>& logits) {
    std::vector<double> p;
    for (const float logit : logits) p.push_back(std::exp(double(logit) / kTemperature));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& one : p) one /= sum;
    return p;
  };
  std::size_t column = 0;
  for (std::size_t s = 0; s + 1 < micro_batch.offsets.size(); ++s) {
    const std::vector<std::int32_t> tokens(micro_batch.tokens.begin() + micro_batch.offsets[s],
                                           micro_batch.tokens.begin() + micro_batch.offsets[s + 1]);
    const auto of_policy = logits_of(policy, tokens), of_second = logits_of(second, tokens);
    for (; column < micro_batch.targets.size() &&
           micro_batch.targets[column] < micro_batch.offsets[s + 1];
         ++column) {
      const auto row = std::size_t(micro_batch.targets[column] - 1 - micro_batch.offsets[s]);
      const auto p = distribution(of_policy[row]), q = distribution(of_second[row]);
      double squares = 0.0, divergence = 0.0;
      for (std::size_t i = 0; i < p.size(); ++i)
        squares += p[i] * p[i], divergence += p[i] * std::log(p[i] / q[i]);
      EXPECT_NEAR(wide.sum_squares[column], squares, 1e-5);
      EXPECT_NEAR(wide.second_kl[column], divergence, 1e-4);
    }
  }
  EXPECT_EQ(column, micro_batch.targets.size());
}

TEST(Forward, ASequenceHasTheSameColumnsInAnyCompany) {
  const ModelConfig config = small_config(Family::qwen3);
  const PolicyModel policy(config, random_weights(config, 10), {});
  const MicroBatch together = random_micro_batch(config, kLengths, 11);
  const Columns all = forward(policy, together, 1.0);
  std::size_t column = 0;
  for (std::size_t s = 0; s < kLengths.size(); ++s) {
    MicroBatch alone{.tokens = {together.tokens.begin() + together.offsets[s],
                                together.tokens.begin() + together.offsets[s + 1]},
                     .offsets = {0, kLengths[s]}};
    for (std::int64_t t = 2; t < kLengths[s]; ++t) alone.targets.push_back(t);
    for (const float logprob : forward(policy, alone, 1.0).logprob)
      EXPECT_EQ(logprob, all.logprob[column++]);
  }
  EXPECT_EQ(column, all.logprob.size());
}

TEST(Forward, GradientsDoNotDependOnThreads) {
  const ModelConfig config = small_config(Family::qwen3);
  const PolicyModel policy(config, random_weights(config, 12), {});
  std::vector<MicroBatch> micro_batches;
  for (std::uint64_t i = 0; i < 8; ++i)
    micro_batches.push_back(random_micro_batch(config, kLengths, 20 + i));
  const auto run = [&](std::size_t threads) {
    std::vector<std::vector<float>> gradients(
        micro_batches.size(), std::vector<float>(std::size_t(weight_layout(config).size)));
    std::vector<std::jthread> workers;
    for (std::size_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        for (std::size_t i = worker; i < micro_batches.size(); i += threads) {
          gradients[i] = gradient_of(policy, micro_batches[i], 1.0,
                                     random_columns(micro_batches[i].targets.size(), i));
        }
      });
    }
    workers.clear();
    return gradients;
  };
  const auto one = run(1);
  EXPECT_EQ(one, run(4));
  EXPECT_NE(one[0], one[1]);
}

TEST(Forward, AMicroBatchWithoutTargetsHasNoGradient) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 13), {});
  bool called = false;
  const auto sink = [&](TensorId, std::int64_t, std::span<const float>) { called = true; };
  EXPECT_TRUE(
      forward_backward(policy, MicroBatch{.tokens = {3, 4}, .offsets = {0, 2}}, 1.0, {}, sink)
          .logprob.empty());
  EXPECT_FALSE(called);
  EXPECT_THROW(
      forward_backward(policy, MicroBatch{.tokens = {3, 4}, .offsets = {0, 2}, .targets = {1}}, 1.0,
                       {}, sink),
      std::logic_error);
}

/// Two prompts with three answers each, once with a prompt that its answers share and once without.
/// Answers follow their prompt, or those of both in turn; both prompts continue `head` tokens more.
/// Answers of `deep` tokens and more are what the later ones to their prompt go on from.
struct SharedPrompts {
  MicroBatch shared{.offsets = {0}}, apart{.offsets = {0}};
  explicit SharedPrompts(const ModelConfig& config, std::array<int, 2> lengths = {3, 6},
                         bool in_turn = false, int head = 0, int deep = 100) {
    const RandomStream stream(77, RandomPurpose::test, 3);
    std::uint64_t drawn = 0;
    const auto tokens = [&](int count) {
      std::vector<std::int32_t> made(std::size_t(count), 0);
      for (std::int32_t& token : made)
        token = std::int32_t(stream.below(drawn++, std::uint64_t(config.vocab_size)));
      return made;
    };
    const auto append = [](MicroBatch& micro_batch, const std::vector<std::int32_t>& all) {
      micro_batch.tokens.insert(micro_batch.tokens.end(), all.begin(), all.end());
    };
    const auto end = [](MicroBatch& micro_batch) {
      micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
    };
    const std::array prompts{tokens(lengths[0]), tokens(lengths[1])};
    const std::vector<std::int32_t> beginning = tokens(head);
    if (head > 0) append(shared, beginning), end(shared), shared.parents.push_back(-1);
    std::array<std::int64_t, 2> sequence{};
    const auto ask = [&](std::size_t prompt) {
      sequence[prompt] = std::int64_t(shared.parents.size());
      append(shared, prompts[prompt]), end(shared), shared.parents.push_back(head > 0 ? 0 : -1);
    };
    std::array<std::vector<std::int32_t>, 2>
        said;  // of the answer to each prompt that the later ones to it continue; columns of that
               // are the first one's alone
    const auto answer = [&](std::size_t prompt, int length) {
      append(apart, beginning), append(apart, prompts[prompt]), append(apart, said[prompt]);
      const std::vector<std::int32_t> own = tokens(length);
      for (const std::int32_t token : own)
        for (MicroBatch* micro_batch : {&shared, &apart})
          micro_batch->targets.push_back(std::int64_t(micro_batch->tokens.size())),
              micro_batch->tokens.push_back(token);
      end(shared), shared.parents.push_back(sequence[prompt]);
      end(apart);
      if (length < deep) return;
      said[prompt].insert(said[prompt].end(), own.begin(), own.end());
      sequence[prompt] = std::int64_t(shared.parents.size()) - 1;
    };
    if (in_turn) {
      ask(0), ask(1);
      for (const int length : {1, 5, 2, 3, 4}) answer(0, length), answer(1, length);
      return;
    }
    for (const std::size_t prompt : {0, 1}) {
      ask(prompt);
      for (const int length : {1, 5, 2, 3, 4}) answer(prompt, length);
    }
  }
};

TEST(Forward, APromptThatStandsOnceChangesNoColumn) {
  for (const Family family : kFamilies) {
    ModelConfig config = small_config(family);
    config.max_position_embeddings = 256;
    const PolicyModel policy(config, random_weights(config, 14), {});
    // 40 and 100: attention reads 32, and 64 and 32 positions, once for all
    for (const std::array lengths : {std::array{3, 6}, std::array{40, 100}})
      for (const bool in_turn : {false, true})
        for (const int head : {0, 5, 100})
          for (const int deep : {100, 3, 1}) {
            const SharedPrompts micro_batches(config, lengths, in_turn, head, deep);
            ASSERT_LT(micro_batches.shared.tokens.size(), micro_batches.apart.tokens.size());
            const Columns shared = forward(policy, micro_batches.shared, 0.7),
                          apart = forward(policy, micro_batches.apart, 0.7);
            EXPECT_EQ(shared.logprob, apart.logprob) << name_of(family) << " " << lengths[0] << " "
                                                     << in_turn << " " << head << " " << deep;
            EXPECT_EQ(shared.entropy, apart.entropy) << name_of(family) << " " << lengths[0] << " "
                                                     << in_turn << " " << head << " " << deep;
          }
    for (const auto& [head, deep] : {std::pair(0, 100), std::pair(4, 3), std::pair(0, 1)}) {
      const SharedPrompts micro_batches(config, {3, 6}, false, head, deep);
      const ColumnGradient derivative = random_columns(micro_batches.shared.targets.size(), 15);
      Columns trained;
      const auto gradient = gradient_of(policy, micro_batches.shared, 0.7, derivative, &trained),
                 plain = gradient_of(policy, micro_batches.apart, 0.7, derivative);
      EXPECT_EQ(trained.logprob, forward(policy, micro_batches.apart, 0.7).logprob);
      for (const Slice& slice : weight_layout(config).slices) {
        double error = 0.0, norm = 0.0;
        for (auto i = std::size_t(slice.offset); i < std::size_t(slice.offset + slice.count); ++i) {
          error += std::pow(gradient[i] - plain[i], 2), norm += std::pow(plain[i], 2);
        }
        EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(norm) + 1e-6)
            << name_of(family) << " " << slice.name;
      }
    }
  }
}

/// Nor on how many threads share an operation, what is computed twice, or what the runner did
/// before.
TEST(Forward, GradientsDoNotDependOnTeamsAndWhatIsKept) {
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8})
    for (const Family family : kFamilies) {
      ModelConfig config = small_config(family);
      if (family == Family::llama) config.vocab_size = 5000;  // three blocks of the head
      const PolicyModel policy(config, random_weights(config, 14), {},
                               &kernels::selected_kernels(numerics));
      const SharedPrompts micro_batches(config, {3, 6}, false, 4);
      const MicroBatch other = random_micro_batch(config, kLengths, 3);
      const auto gradient = [&](MicroBatchRunner& runner, const MicroBatch& micro_batch) {
        std::vector<float> sum(std::size_t(weight_layout(config).size));
        std::mutex mutex;
        const auto sink = [&](TensorId tensor, std::int64_t first, std::span<const float> values) {
          const std::lock_guard lock(mutex);
          const auto at = std::size_t(offset_of(weight_layout(config), tensor) + first);
          for (std::size_t i = 0; i < values.size(); ++i) sum[at + i] += values[i];
        };
        const Columns columns = runner.forward_backward(
            policy, micro_batch, 0.9, random_columns(micro_batch.targets.size(), 15), sink);
        EXPECT_EQ(columns.logprob, runner.forward(policy, micro_batch, 0.9).logprob);
        return sum;
      };
      Team alone;
      MicroBatchRunner keeping(alone);
      const auto plain = gradient(keeping, micro_batches.shared),
                 plain_other = gradient(keeping, other);
      EXPECT_NE(plain, plain_other);
      for (const auto& [threads, kept] : std::vector<std::pair<int, std::int64_t>>{
               {1, 0}, {3, 0}, {4, MicroBatchRunner::kNoLimit}}) {
        Team team(threads);
        team.lead(on_new_threads, [&, kept = kept] {
          MicroBatchRunner runner(team, kept);
          EXPECT_EQ(gradient(runner, other), plain_other) << name_of(family);
          EXPECT_EQ(gradient(runner, micro_batches.shared), plain) << name_of(family);
          EXPECT_EQ(gradient(runner, other), plain_other) << name_of(family);
        });
      }
    }
}

/// A micro-batch whose logits fit, one whose logits do not, and the first again: nothing of what is
/// not kept any more stays in memory.
TEST(Forward, MicroBatchesOfManyLengthsStayWithinTheirMemory) {
  ModelConfig config = small_config(Family::llama);
  config.vocab_size = 50'000;
  const auto& kernels = kernels::selected_kernels(kernels::kFp32FixedOrder);
  const PolicyModel policy(config, random_weights(config, 14), {}, &kernels);
  const MicroBatch few = random_micro_batch(config, std::vector<std::int64_t>(10, 60), 3),
                   many = random_micro_batch(config, std::vector<std::int64_t>(20, 60), 4);
  const auto logits = [&](const MicroBatch& micro_batch) {
    return MicroBatchRunner::kept_logit_bytes(config, kernels,
                                              std::int64_t(micro_batch.tokens.size()));
  };
  const auto bytes = [&](const MicroBatch& micro_batch, std::int64_t most) {
    return MicroBatchRunner::backward_bytes(config, kernels,
                                            std::int64_t(micro_batch.tokens.size()), 1, most);
  };
  const std::int64_t limit = bytes(few, MicroBatchRunner::kNoLimit) + (8 << 20);
  const auto gradient = [&](MicroBatchRunner& runner, const MicroBatch& micro_batch) {
    std::vector<float> sum(std::size_t(weight_layout(config).size));
    runner.forward_backward(
        policy, micro_batch, 0.9, random_columns(micro_batch.targets.size(), 15),
        [&](TensorId tensor, std::int64_t first, std::span<const float> values) {
          const auto at = std::size_t(offset_of(weight_layout(config), tensor) + first);
          for (std::size_t i = 0; i < values.size(); ++i) sum[at + i] += values[i];
        });
    return sum;
  };
  Team alone;
  std::vector<std::vector<float>> again;
  for (const MicroBatch* micro_batch : {&few, &many}) {
    MicroBatchRunner computing(alone, 0);
    again.push_back(gradient(computing, *micro_batch));
  }
  huge_blocks().release_idle();
  const std::size_t before = huge_blocks().mapped();
  MicroBatchRunner runner(alone, limit);
  EXPECT_EQ(gradient(runner, few), again[0]);
  EXPECT_EQ(gradient(runner, many), again[1]);
  huge_blocks().release_idle();
  constexpr std::int64_t rounding = 8 * std::int64_t(kHugePage);  // of as many arrays
  EXPECT_LE(std::int64_t(huge_blocks().mapped() - before),
            std::max(limit, bytes(many, 0)) + rounding);
  EXPECT_GT(logits(few), 2 * rounding);
  EXPECT_GT(bytes(many, 0) + logits(many), limit);  // they are not kept
  EXPECT_EQ(gradient(runner, few), again[0]);
}

TEST(Forward, BrokenMicroBatchesAreRefused) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 13), {});
  EXPECT_THROW(forward(policy, {.tokens = {1, 2}, .offsets = {0, 3}}, 1.0), std::logic_error);
  EXPECT_THROW(forward(policy, {.tokens = {1, 99}, .offsets = {0, 2}}, 1.0), std::logic_error);
  EXPECT_THROW(forward(policy, {.tokens = {1, 2}, .offsets = {0, 2}, .targets = {0}}, 1.0),
               std::logic_error);
  EXPECT_THROW(forward(policy, {.tokens = {1, 2, 3}, .offsets = {0, 3}, .targets = {2, 1}}, 1.0),
               std::logic_error);
  EXPECT_THROW(
      forward(policy, {.tokens = {1, 2, 3}, .offsets = {0, 1, 3}, .parents = {-1, 1}}, 1.0),
      std::logic_error);
  EXPECT_THROW(forward(policy, {.tokens = {1, 2, 3}, .offsets = {0, 1, 3}, .parents = {-1}}, 1.0),
               std::logic_error);
  EXPECT_THROW(
      forward(policy, {.tokens = {1, 2, 3}, .offsets = {0, 1, 3}, .parents = {-1, 7}}, 1.0),
      std::logic_error);
  // of an empty one
  EXPECT_THROW(
      forward(policy, {.tokens = {1, 2, 3}, .offsets = {0, 1, 1, 3}, .parents = {-1, 0, 1}}, 1.0),
      std::logic_error);
  EXPECT_THROW(forward(policy,
                       {.tokens = std::vector<std::int32_t>(65, 1),
                        .offsets = {0, 30, 60, 65},
                        .parents = {-1, 0, 1}},
                       1.0),
               std::logic_error);
  EXPECT_THROW(
      forward(
          policy,
          {.tokens = std::vector<std::int32_t>(65, 1), .offsets = {0, 60, 65}, .parents = {-1, 0}},
          1.0),
      std::logic_error);
  EXPECT_THROW(
      forward(policy, {.tokens = std::vector<std::int32_t>(65, 1), .offsets = {0, 65}}, 1.0),
      std::logic_error);
}

}  // namespace
}  // namespace rollcall::model::testing
