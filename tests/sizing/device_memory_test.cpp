// What a GPU holds: by hand for a model of 7 billion weights, and what is said of it.
#include "sizing/device_memory.hpp"

#include <gtest/gtest.h>

namespace rollcall::sizing {
namespace {

using comm::Stage;

/// Qwen2.5-7B's config.json: 7,615,616,512 weights.
RunModels seven_b() {
  RunModels models;
  model::ModelConfig& c = models.policy;
  c.architecture = model::Architecture::qwen2;
  c.vocab_size = 152064, c.hidden_size = 3584, c.intermediate_size = 18944,
  c.num_hidden_layers = 28;
  c.num_attention_heads = 28, c.num_key_value_heads = 4, c.head_dim = 128,
  c.max_position_embeddings = 32768, c.attention_bias = true;
  return models;
}
RunConfig config() {
  RunConfig c;
  c.sampling.max_new_tokens = 960, c.train.micro_batch_tokens = 1024, c.train.steps = 10;
  return c;
}
std::uint64_t item(const DeviceNeed& need, const std::string& what) {
  for (const auto& held : need.held)
    if (held.what == what) return held.bytes;
  return 0;
}

constexpr const char *kShare = "share of weights, moments and sums",
                     *kOnTheWay = "sums and weights on their way to shares and back";
constexpr double kAll = 7'615'616'512.0;

TEST(DeviceMemory, OfSevenBillionWeightsOnEightGpus) {
  const auto need =
      device_need(config(), seven_b(), {{Stage::generation, Stage::update}, {64, 0}, 8});
  EXPECT_NEAR(double(item(need, "weights in bf16")), 2 * kAll + 4 * 32768 * 128, 5e6);
  // weights, two moments, sums
  EXPECT_NEAR(double(item(need, kShare)), (4 + 4 + 4 + 8) * kAll / 8, 2e5);
  // The embedding is the largest part whose sum travels; windows of 4 M weights; 8 bytes for each
  // block of 4,096.
  EXPECT_NEAR(double(item(need, kOnTheWay)),
              8.0 * 152064 * 3584 + 4 * (1 << 22) + 8 * kAll / 8 / 4096, 1e5);
  // 57,344 bytes a token
  EXPECT_EQ(need.sequence_bytes, std::uint64_t{1024} * 28 * 2 * 4 * 128 * 2);
  // A block's rows: 4 x 3584 + 2 x 3584 + 2 x 512 + 3 x 18944 floats a token. One block's input
  // goes where its rows stay,
  // and with all of them the block that is computed again, with the parts of its products' sums:
  // the tolerance.
  EXPECT_NEAR(double(need.kept_bytes), 27.0 * 1024 * (6 * 3584 + 1024 + 3 * 18944 - 3584) * 4,
              500e6);
  EXPECT_GT(need.micro_batch_bytes,
            std::uint64_t{28} * 1024 * 3584 * 4 +
                std::uint64_t{2} * 1024 * (6 * 3584 + 1024 + 3 * 18944) * 4);
  EXPECT_NE(device_text(need, 80'000'000'000).find("fits, "), std::string::npos)
      << device_text(need, 80'000'000'000);
  const auto alone =
      device_need(config(), seven_b(), {{Stage::generation, Stage::update}, {64, 0}, 1});
  EXPECT_NEAR(double(item(alone, kShare)), 20 * kAll, 1e6);
  EXPECT_LT(item(alone, kOnTheWay), 40'000'000u) << "a rank alone adds to its share at once";
  EXPECT_NE(device_text(alone, 141'000'000'000).find("does not fit"), std::string::npos);
}

TEST(DeviceMemory, WhoOnlyGeneratesHasNoShareAndWhoOnlyUpdatesNoSequences) {
  const auto generates = device_need(config(), seven_b(), {{Stage::generation}, {64, 0}, 8}),
             updates = device_need(config(), seven_b(), {{Stage::update}, {64, 0}, 8});
  EXPECT_EQ(item(generates, kShare) + item(generates, kOnTheWay) + generates.micro_batch_bytes +
                generates.kept_bytes,
            0u);
  EXPECT_EQ(updates.sequence_bytes + updates.decode_bytes, 0u);
  RunModels probed = seven_b();
  probed.probed = true;
  EXPECT_GT(device_need(config(), probed, {{Stage::update}, {64, 0}, 8}).sequence_bytes,
            generates.sequence_bytes)
      << "update ranks probe, and behind whole answers";
  EXPECT_GT(device_need(config(), seven_b(), {{Stage::update}, {64, 5000}, 8}).micro_batch_bytes,
            updates.micro_batch_bytes)
      << "a long example is a micro-batch";
  EXPECT_GT(device_need(config(), seven_b(), {{Stage::generation}, {4000, 0}, 8}).sequence_bytes,
            2 * generates.sequence_bytes);
  EXPECT_GT(updates.least(), generates.least() + std::uint64_t(19e9));
  // Of 80 GB eight tenths of what is free are for pages of 59 MB.
  const std::string text = device_text(generates, 80'000'000'000);
  const auto pages = (80'000'000'000 - (generates.least() - generates.sequence_bytes)) / 10 * 8;
  EXPECT_NE(text.find("fits, " + std::to_string(pages / generates.sequence_bytes) +
                      " sequences of the longest kind at a time"),
            std::string::npos)
      << text;
}

TEST(DeviceMemory, CommunicatorsAreCounted) {
  RunConfig c = config();
  auto layout = comm::make_layout("colocated", 8);
  for (int rank = 0; rank < 8; ++rank) layout.nodes.push_back(0);
  EXPECT_EQ(nccl_communicators(c, layout, 3), 1) << "among the update ranks";
  layout = comm::make_layout("disaggregated", 10);  // rank 0, 5 that generate, 1 that scores, 3
                                                    // that update
  EXPECT_EQ(nccl_communicators(c, layout, layout.of(Stage::update).front()), 2);
  EXPECT_EQ(nccl_communicators(c, layout, layout.of(Stage::generation).front()), 3)
      << "one for each rank that sends";
  EXPECT_EQ(nccl_communicators(c, layout, layout.of(Stage::scoring).front()), 0);
  EXPECT_EQ(item(device_need(c, seven_b(), {{Stage::generation}, {64, 0}, 3, 3}), "NCCL"),
            1'800'000'000u);
  c.run.comm = "mpi";
  EXPECT_EQ(nccl_communicators(c, layout, layout.of(Stage::update).front()), 0);
}

/// A micro-batch of a device is as long as 10 GB let it be, whatever the host has.
TEST(DeviceMemory, MicroBatchesAreOfTheModelAndNotOfTheHost) {
  RunConfig c = config();
  c.train.micro_batch_tokens = 0;
  EXPECT_EQ(micro_batch_tokens(c, seven_b().policy), 256) << "on the host";
  c.run.numerics = kernels::kCudaBf16Sliced8;
  EXPECT_EQ(micro_batch_tokens(c, seven_b().policy), 4096);
  c.run.memory_limit = "6G";
  EXPECT_EQ(micro_batch_tokens(c, seven_b().policy), 4096);
  EXPECT_EQ(micro_batch_tokens(c, model::model_config(RunConfig().model, 20, 0)), 16384);
  c.train.micro_batch_tokens = 300;
  EXPECT_EQ(micro_batch_tokens(c, seven_b().policy), 300);
}

TEST(DeviceMemory, WithoutTrainingThereIsNoShare) {
  RunConfig c = config();
  c.train.steps = 0, c.sft.steps = 0;
  EXPECT_EQ(item(device_need(c, seven_b(), {{Stage::update}, {64, 0}, 1}), kShare), 0u);
}

}  // namespace
}  // namespace rollcall::sizing
