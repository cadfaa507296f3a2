// Memory: what is held is counted once, what follows from a limit stays inside it, and the
// micro-batch size follows from run file and model alone.
#include "sizing/memory.hpp"

#include "base/errors/error.hpp"
#include "model/engine/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::sizing {
namespace {

constexpr std::uint64_t kMB = 1'000'000;

/// 100 MB held, leaves of 40 MB, 10 MB of scratch and sequences of 1 MB.
const MemoryNeed kNeed{{{"weights", 60 * kMB}, {"libraries", 40 * kMB}},
                       40 * kMB,
                       1 * kMB,
                       30 * kMB,
                       10 * kMB,
                       1 * kMB,
                       16,
                       0,
                       true};

TEST(Memory, UsesAllThreadsWhereThereIsNoLimit) {
  const auto use = fit_memory(kNeed, kNoLimit, "", 8);
  EXPECT_EQ(use.micro_batches_at_once, 8);
  EXPECT_EQ(use.decoding_threads, 8);
  EXPECT_EQ(use.cache_bytes, model::kMostCacheBytes);
  EXPECT_EQ(use.micro_batch_bytes, std::int64_t(70 * kMB));
  EXPECT_EQ(use.step_bytes, 8 * 70 * kMB + 8 * (10 + 16 * 1) * kMB);  // leaves keep their memory
  EXPECT_EQ(use.bytes, 100 * kMB + use.step_bytes);
  MemoryNeed shared = kNeed;
  shared.apart = false;
  // one session for all threads
  EXPECT_EQ(fit_memory(shared, kNoLimit, "", 8).bytes,
            100 * kMB + 8 * 70 * kMB + (10 + 16 * 1) * kMB);
}

TEST(Memory, ALimitBoundsWhatRunsAtOnce) {
  const auto use = fit_memory(kNeed, 200 * kMB, "", 8);  // a micro-batch on all threads takes 47
  EXPECT_EQ(use.micro_batches_at_once, 1);
  EXPECT_EQ(use.micro_batch_bytes, std::int64_t(68 * kMB));  // with half of 200 - 100 - 47 - 11
  EXPECT_EQ(use.decoding_threads, 2);                        // 32 / 11
  EXPECT_EQ(use.cache_bytes, std::int64_t((32 - 2 * 10) * kMB));
  EXPECT_LE(use.bytes, 200 * kMB);
  EXPECT_EQ(fit_memory(kNeed, 2000 * kMB, "", 8).micro_batches_at_once, 8);
  for (std::uint64_t limit = 158; limit < 2000; ++limit)
    EXPECT_LE(fit_memory(kNeed, limit * kMB, "", 8).bytes, limit * kMB);
}

/// Of 70 MB that a micro-batch may take, 20 are logits.
TEST(Memory, LogitsGiveWayToMicroBatchesSideBySide) {
  MemoryNeed need = kNeed;
  need.kept_logit_bytes = 20 * kMB;
  const std::uint64_t limit = (100 + 11 + 2 * 8 * 60) * kMB;  // half of what is left is 8 times 60
  EXPECT_EQ(fit_memory(kNeed, limit, "", 8).micro_batches_at_once, 1);
  const auto use = fit_memory(need, limit, "", 8);
  EXPECT_EQ(use.micro_batches_at_once, 8);
  EXPECT_EQ(use.micro_batch_bytes, std::int64_t(60 * kMB));
  EXPECT_EQ(fit_memory(need, (100 + 11 + 2 * 8 * 50) * kMB, "", 8).micro_batches_at_once, 8);
  EXPECT_EQ(fit_memory(need, (100 + 11 + 2 * 8 * 50 - 16) * kMB, "", 8).micro_batches_at_once, 1);
  for (std::uint64_t megabytes = 158; megabytes < 2000; ++megabytes)
    EXPECT_LE(fit_memory(need, megabytes * kMB, "", 8).bytes, megabytes * kMB);
}

TEST(Memory, RefusesWhatDoesNotFitByNamingTheItems) {
  EXPECT_NO_THROW(fit_memory(kNeed, 151 * kMB, "", 1));
  try {
    fit_memory(kNeed, 150 * kMB, "run.memory_limit is", 1);
    FAIL() << "accepted";
  } catch (const EnvironmentError& e) {
    for (const char* part :
         {"needs 151 MB", "run.memory_limit is 150 MB", "weights 60 MB", "a micro-batch 40 MB"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in " << e.what();
  }
}

/// SmolLM2-135M: 1,024 tokens take 256 rows of 49,152 logits (50 MB), the inputs of 30 blocks (71
/// MB) and a block's rows with their gradients.
TEST(Memory, TheMicroBatchFollowsFromModelAndLimit) {
  model::ModelConfig smollm2;
  smollm2.vocab_size = 49152, smollm2.hidden_size = 576, smollm2.intermediate_size = 1536,
  smollm2.num_hidden_layers = 30;
  smollm2.num_attention_heads = 9, smollm2.num_key_value_heads = 3, smollm2.head_dim = 64;
  const auto& kernels = kernels::scalar_kernels();
  EXPECT_NEAR(double(model::MicroBatchRunner::backward_bytes(smollm2, kernels, 1024, 1, 0)), 230e6,
              40e6);
  RunConfig config;
  EXPECT_EQ(micro_batch_tokens(config, smollm2), 1024);
  config.run.memory_limit = "6G";
  EXPECT_EQ(micro_batch_tokens(config, smollm2), 1024);  // an eighth is 750 MB
  config.run.memory_limit = "1200M";
  EXPECT_EQ(micro_batch_tokens(config, smollm2), 512);
  config.run.memory_limit = "1K";
  EXPECT_EQ(micro_batch_tokens(config, smollm2), 64);
  config.train.micro_batch_tokens = 300;
  EXPECT_EQ(micro_batch_tokens(config, smollm2), 300);
  EXPECT_EQ(micro_batch_tokens(RunConfig(), model::model_config(RunConfig().model, 20, 0)), 1024);
}

/// On a device stand rows, keys and values; the host has weights, moments and the sum.
TEST(Memory, APolicyOnADeviceTakesNoRowsOfTheHost) {
  RunConfig config;
  const auto policy = model::model_config(config.model, 20, 0);
  const auto need_in = [&](const char* numerics) {
    config.run.numerics = numerics;
    return memory_need(config, {policy, {}, {}, {}}, comm::make_layout("colocated", 1), 0,
                       {600, 0});
  };
  const auto host = need_in(kernels::kBf16Sliced8), device = need_in(kernels::kCudaBf16Sliced8);
  EXPECT_GT(host.micro_batch_bytes, 0U);
  EXPECT_GT(host.sequence_bytes, 0U);
  EXPECT_EQ(device.micro_batch_bytes + device.micro_batch_thread_bytes + device.kept_bytes +
                device.decode_bytes + device.thread_bytes + device.sequence_bytes,
            0U);
  EXPECT_EQ(device.held.size() + 1, host.held.size());  // the sum of gradients is the device's too
  EXPECT_LT(fit_memory(device, 1 << 30, "", 2).bytes, fit_memory(host, 1 << 30, "", 2).bytes);
}

/// Also where a forward pass, whose memory a backward pass may use, is the larger of the two.
TEST(Memory, RowsAreKeptWhereNothingLimitsThem) {
  for (const std::int64_t rollouts : {1, 32}) {
    RunConfig config;
    config.train.micro_batch_tokens = 1024, config.scheduler.max_rollouts = rollouts;
    const auto policy = model::model_config(config.model, 20, 0);
    const auto need =
        memory_need(config, {policy, {}, {}, {}}, comm::make_layout("colocated", 1), 0, {600, 0});
    for (const int threads : {1, 3}) {
      const auto taken = [&](std::int64_t limit) {
        return model::MicroBatchRunner::backward_bytes(policy, kernels::selected_kernels(), 1024, 1,
                                                       limit);
      };
      EXPECT_EQ(taken(fit_memory(need, kNoLimit, "", threads).micro_batch_bytes),
                taken(model::MicroBatchRunner::kNoLimit))
          << rollouts << " rollouts, " << threads;
    }
  }
}

TEST(Memory, CountsWhatEachStageHolds) {
  RunConfig config;
  config.run.layout = "disaggregated", config.train.micro_batch_tokens = 1024,
  config.task.heldout_prompts = 64;
  ModelSection guide = config.model;
  guide.hidden_size *= 2;
  const auto policy = model::model_config(config.model, 20, 0);
  const RunModels models{.policy = policy,
                         .companions = {policy, policy},
                         .guides = {model::model_config(guide, 20, 0)},
                         .judges = {}};
  const auto layout = comm::make_layout("disaggregated", 8);
  const std::uint64_t weights = 4 * std::uint64_t(model::weight_layout(policy).size);
  const auto held = [](const model::ModelConfig& c) {
    return 4 * std::uint64_t(model::weight_layout(c).size) +
           std::uint64_t(model::packed_bytes(c, kernels::scalar_kernels()));
  };
  const auto bytes_of = [](const MemoryNeed& need, const std::string& what) {
    for (const auto& item : need.held)
      if (item.what == what) return item.bytes;
    return std::uint64_t(0);
  };
  for (int rank = 0; rank < 8; ++rank) {
    const auto need = memory_need(config, models, layout, rank, {.prompt = 30, .heldout = 64});
    const bool generates = layout.hosts_stage(rank, comm::Stage::generation),
               updates = layout.hosts_stage(rank, comm::Stage::update);
    EXPECT_EQ(bytes_of(need, "weights and their packed copy"), held(policy));
    EXPECT_EQ(bytes_of(need, "records of the run") > 0, rank == 0);
    EXPECT_EQ(fit_memory(need, kNoLimit, "", 2).step_bytes > 0, generates || updates);
    EXPECT_EQ(bytes_of(need, "guide"), generates ? held(models.guides[0]) : 0U);
    EXPECT_EQ(bytes_of(need, "sum of gradients"), updates ? 2 * weights : 0U);
    EXPECT_EQ(bytes_of(need, "reference and teacher"), updates ? 2 * held(policy) : 0U);
    const bool leads = rank == layout.of(comm::Stage::update).front();
    EXPECT_EQ(bytes_of(need, "columns of a step") > 0, leads)
        << "no pass over the rollouts is asked for";
    RunModels passes = models;
    passes.whole_steps = true;
    EXPECT_EQ(bytes_of(memory_need(config, passes, layout, rank, {30, 0}), "columns of a step") > 0,
              updates);
    EXPECT_EQ(need.micro_batch_bytes > 0, updates);
    EXPECT_EQ(need.decode_bytes > 0, generates);
    const auto generators = std::int64_t(layout.of(comm::Stage::generation).size());
    EXPECT_EQ(
        need.sequences,
        generates ? std::max<std::int64_t>(256, (64 * 16 + generators - 1) / generators + 16) : 0)
        << "the guide holds its share of an evaluation";
    RunModels small = models;
    small.guides.clear();
    EXPECT_EQ(memory_need(config, small, layout, rank, {30, 0}).sequences, generates ? 64 : 0)
        << "each thread's own session";
    RunModels probed = models;
    probed.probed = true;
    EXPECT_EQ(memory_need(config, probed, layout, rank, {30, 0}).decode_bytes > 0,
              generates || updates)
        << "update ranks probe";
  }
}

TEST(Memory, PoolsInOtherArithmeticHaveACopyOfThePolicy) {
  RunConfig config;
  config.run.numerics = "fp32_fixed_order", config.train.micro_batch_tokens = 1024;
  config.second_pass.kind = "pool";
  const RunModels models{.policy = model::model_config(config.model, 20, 0),
                         .companions = {},
                         .guides = {},
                         .judges = {}};
  const auto layout = comm::make_layout("disaggregated", 8);
  const auto copy_of = [&](int rank) {
    for (const auto& item : memory_need(config, models, layout, rank, {.prompt = 30}).held)
      if (item.what == "copy of the policy for pools") return item.bytes;
    return std::uint64_t(0);
  };
  const auto bytes =
      std::uint64_t(model::packed_bytes(models.policy, kernels::plain_kernels("bf16_sliced8")));
  for (int rank = 0; rank < 8; ++rank) {
    config.second_pass.numerics = "bf16_sliced8";
    EXPECT_EQ(copy_of(rank), layout.hosts_stage(rank, comm::Stage::generation) ? bytes : 0U);
    config.second_pass.numerics = "";
    EXPECT_EQ(copy_of(rank), 0U) << "the run's own arithmetic";
  }
}

TEST(Memory, JudgeRanksHoldTheJudge) {
  RunConfig config;
  config.train.micro_batch_tokens = 1024;
  const auto policy = model::model_config(config.model, 20, 0),
             judge = model::model_config(config.model, 400, 0);
  for (const int own : {0, 2}) {
    const auto layout = comm::with_judges("disaggregated", 8, own);
    for (int rank = 0; rank < 8; ++rank) {
      const auto need = memory_need(config, {policy, {}, {}, {judge}}, layout, rank, {30, 0});
      const bool judges = layout.hosts_stage(rank, comm::Stage::judge);
      EXPECT_EQ(std::any_of(need.held.begin(), need.held.end(),
                            [](const MemoryItem& item) { return item.what == "judge"; }),
                judges);
      EXPECT_EQ(need.decode_bytes > 0, judges || layout.hosts_stage(rank, comm::Stage::generation))
          << "what it takes to write a verdict";
      RunConfig scores = config;
      scores.judge.kind = "reward_model";
      const auto scored = memory_need(scores, {policy, {}, {}, {judge}}, layout, rank, {30, 0});
      EXPECT_EQ(scored.decode_bytes > 0, layout.hosts_stage(rank, comm::Stage::generation))
          << "a reward model writes nothing";
      EXPECT_EQ(scored.held.size(), need.held.size() + (judges ? 1 : 0)) << "it runs rows";
    }
  }
}

TEST(Memory, NoneIsTakenForSamplingWhereNothingSamples) {
  RunConfig config;
  config.train.micro_batch_tokens = 1024;
  const auto policy = model::model_config(config.model, 20, 0);
  const auto samples = [&](const RunConfig& c) {
    return memory_need(c, {policy, {}, {}, {}}, comm::make_layout("single", 1), 0, {30, 0})
               .decode_bytes > 0;
  };
  EXPECT_TRUE(samples(config));
  config.eval.before = config.eval.after = false;
  EXPECT_TRUE(samples(config));
  RunConfig archived = config;
  archived.train.from_archive = "run";
  EXPECT_FALSE(samples(archived));
  archived.eval.every = 5;
  EXPECT_TRUE(samples(archived));
  config.train.steps = 0, config.sft.steps = 3;
  EXPECT_FALSE(samples(config));
  config.sft.steps = 0;
  EXPECT_TRUE(samples(config)) << "an evaluation";
}

TEST(Memory, WholeGroupsWhoseGradientsAreComparedTakeTheHeadsPass) {
  RunConfig config;
  // beside a prompt of 30
  config.train.micro_batch_tokens = 64, config.scheduler.max_rollouts = 64,
  config.sampling.max_new_tokens = 34;
  const auto policy = model::model_config(config.model, 20, 0);
  const auto of = [&](bool compared) {
    RunModels models{policy, {}, {}, {}};
    models.state_gradients = compared;
    return memory_need(config, models, comm::make_layout("single", 1), 0, {30, 0})
        .micro_batch_bytes;
  };
  EXPECT_EQ(of(true) - of(false),
            std::uint64_t(model::MicroBatchRunner::logprob_gradient_bytes(
                              policy, kernels::selected_kernels(), 4096) -
                          model::MicroBatchRunner::forward_bytes(policy, 4096)));
}

/// Three of the eight update: two on the second node of four, which share a sum, one on the third
/// of two.
TEST(Memory, RanksOfANodeCountTheirPartOfWhatTheyShare) {
  RunConfig config;
  config.train.micro_batch_tokens = 1024;
  const auto policy = model::model_config(config.model, 20, 0);
  auto layout = comm::make_layout("disaggregated", 8);
  layout.nodes = {0, 0, 2, 2, 2, 2, 6, 6};
  layout.hosts[std::size_t(comm::Stage::update)] = {4, 5, 6};
  const std::uint64_t weights = 4 * std::uint64_t(model::weight_layout(policy).size);
  const auto bytes_of = [&](int rank, const std::string& what) {
    std::uint64_t sum = 0;
    for (const auto& item : memory_need(config, {policy, {}, {}, {}}, layout, rank, {30, 0}).held)
      sum += item.what == what ? item.bytes : 0;
    return sum;
  };
  const std::uint64_t policy_bytes =
      weights + std::uint64_t(model::packed_bytes(policy, kernels::scalar_kernels()));
  EXPECT_EQ(bytes_of(0, "weights and their packed copy"), policy_bytes / 2);
  EXPECT_EQ(bytes_of(3, "weights and their packed copy"), policy_bytes / 4);
  EXPECT_EQ(bytes_of(4, "sum of gradients"), weights);  // 8 bytes of an element, half of them
  EXPECT_EQ(bytes_of(6, "sum of gradients"), 2 * weights);
}

/// SmolLM2-135M: a page of a layer holds 3 heads x 64 positions x 64 elements, twice.
TEST(Memory, CountsPackedWeightsAndPagesOfTheNumerics) {
  RunConfig config;
  config.train.micro_batch_tokens = 64, config.sampling.max_new_tokens = 60;
  RunModels models;
  model::ModelConfig& c = models.policy;
  c.vocab_size = 49152, c.hidden_size = 576, c.intermediate_size = 1536, c.num_hidden_layers = 30;
  c.num_attention_heads = 9, c.num_key_value_heads = 3, c.head_dim = 64,
  c.tie_word_embeddings = true;
  const auto layout = comm::make_layout("single", 1);
  const std::uint64_t matrices =
                          576 * 49152 + 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536),
                      norms = 61 * 576;
  for (const auto& [numerics, width] :
       {std::pair(kernels::kFp32FixedOrder, 4), std::pair(kernels::kBf16Sliced8, 2)}) {
    config.run.numerics = numerics;
    const auto need = memory_need(config, models, layout, 0, {30, 0});
    EXPECT_EQ(need.held[0].bytes, 4 * (matrices + norms) + std::uint64_t(width) * matrices)
        << numerics;
    // 90 positions are two pages, the prompt one
    EXPECT_EQ(need.sequence_bytes, std::uint64_t(30 * (2 + 1) * 3 * 64 * 64 * 2 * width))
        << numerics;
  }
}

}  // namespace
}  // namespace rollcall::sizing
