// What the emulated device is asked for, against the table that plans are made of
// (model/device/device_sizes.hpp).
#include "emulation.hpp"
#include "model/decode/decode.hpp"
#include "model/decode/decode_session.hpp"
#include "model/device/device_sizes.hpp"
#include "model/small_models.hpp"
#include "model/train/policy_optimizer.hpp"

#include <gtest/gtest.h>

namespace rollcall::model::testing {
namespace {

ModelConfig config_of(Family family) {
  ModelConfig config = small_config(family);
  config.vocab_size = 700, config.hidden_size = 40, config.intermediate_size = 72,
  config.max_position_embeddings = 128;
  return config;
}

/// What `work` took at most beyond what stood there.
template <class Work>
double taken_by(const Work& work) {
  emulation::begin_memory();
  const std::size_t before = emulation::memory_taken().now;
  work();
  return double(emulation::memory_taken().most - before);
}

PolicyModel policy_of(const ModelConfig& config) {
  return {
      config, random_weights(config, 1), {}, &kernels::selected_kernels(kernels::kCudaBf16Sliced8)};
}

MicroBatch micro_batch_of(const ModelConfig& config) {
  MicroBatch micro_batch = random_micro_batch(config, {70, 20}, 2);
  micro_batch.targets.erase(micro_batch.targets.begin(), micro_batch.targets.begin() + 40);
  return micro_batch;
}

/// Seven short sequences behind a long one.
MicroBatch tree_of(const ModelConfig& config) {
  MicroBatch micro_batch = micro_batch_of(config);
  micro_batch.offsets = {0, 70, 73, 74, 80, 81, 85, 86, 90};
  micro_batch.parents = {-1, 0, 1, 1, 3, 0, 5, 6};
  return micro_batch;
}

/// A device keeps what passes over from the first pass on, and is another in each process: no test
/// of memory is the first.
void begin_device() {
  const ModelConfig config = config_of(kFamilies[0]);
  forward(policy_of(config), micro_batch_of(config), 1.0);
}

TEST(DeviceMemory, WeightsOptimizerAndMicroBatchesTakeWhatTheTableSays) {
  begin_device();
  for (const Family family : kFamilies) {
    const ModelConfig config = config_of(family);
    const PolicyModel policy = policy_of(config);
    Alone alone;
    const WeightLayout layout = weight_layout(config);
    const std::size_t before = emulation::memory_taken().now;
    forward(policy, micro_batch_of(config), 1.0);
    EXPECT_EQ(emulation::memory_taken().now - before,
              std::size_t(device_weight_bytes(config).all()))
        << name_of(family);
    std::unique_ptr<DeviceOptimizer> optimizer;
    const double of_optimizer = double(device_optimizer_sizes(config, layout.size, 1).all());
    EXPECT_NEAR(taken_by([&] {
                  optimizer = make_device_optimizer(policy, {0, layout.size}, alone);
                }),
                of_optimizer, 8)
        << name_of(family);
    Team team;
    for (const MicroBatch& micro_batch : {micro_batch_of(config), tree_of(config)}) {
      const auto rows = std::int64_t(micro_batch.tokens.size()),
                 targets = std::int64_t(micro_batch.targets.size()),
                 sequences = std::int64_t(micro_batch.offsets.size()) - 1;
      MicroBatchRunner runner(team);
      optimizer->start();
      const double planned = double(
          device_micro_batch_bytes(config, {rows, targets, sequences, config.num_hidden_layers}));
      const double taken = taken_by([&] {
        optimizer->add(runner, policy, micro_batch, 1.0,
                       random_columns(micro_batch.targets.size(), 3));
      });
      EXPECT_EQ(taken, planned) << name_of(family)
                                << ": more where a pass took more than the table has for it";
      EXPECT_EQ(taken_by([&] { forward(policy, micro_batch, 1.0); }),
                double(device_micro_batch_bytes(config, {rows, targets, sequences, 0})))
          << name_of(family);
      EXPECT_EQ(taken_by([&] { logprob_gradients(policy, micro_batch, 1.0); }),
                double(device_micro_batch_bytes(config, {rows, targets, sequences, 0, true})))
          << name_of(family);
    }
  }
}

TEST(DeviceMemory, SessionsTakeWhatTheTableSays) {
  begin_device();
  for (const Family family : kFamilies) {
    const ModelConfig config = config_of(family);
    const PolicyModel policy = policy_of(config);
    device_weights(policy);
    std::vector<DecodeRequest> requests;
    for (std::uint64_t g = 0; g < 3; ++g)
      requests.push_back({.prompt = random_micro_batch(config, {40}, g).tokens,
                          .seed = 7,
                          .prompt_address = g,
                          .count = 2});
    const double planned = double(device_decode_bytes(config, 6 + DecodeSession::kPrefillRows));
    const double taken = taken_by(
        [&] { decode(policy, requests, {.max_new_tokens = 3}, {}, {.cache_bytes = 1 << 20}); });
    EXPECT_GE(taken, planned) << name_of(family);
    // of pages; what the table has not foreseen would begin another
    EXPECT_LE(taken, planned + 1.5 * double(device_sizes::kChunk))
        << name_of(family)
        << ": a session took more than the table has for it, pages and tokens aside";
  }
}

/// What is told of work that finds no room on the device, whose memory of 64 MiB is then as free as
/// before.
template <class Work>
std::string refusal(const Work& work) {
  const std::size_t before = emulation::memory_taken().now;
  std::string told;
  try {
    work();
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  EXPECT_EQ(emulation::memory_taken().now, before);
  return told;
}

TEST(DeviceMemory, WhatFindsNoRoomIsToldWithWhatIsFree) {
  begin_device();
  const auto says = [](const std::string& told, const std::string& item) {
    EXPECT_EQ(told.find("the CUDA device has no room for " + item + ": "), 0U) << told;
    for (const char* words : {" MB asked for, ", " of 67.1 MB free",
                              "rollcall plan RUN.toml --gpus N", "use more ranks"})
      EXPECT_NE(told.find(words), std::string::npos) << told;
  };
  ModelConfig config = config_of(kFamilies[0]);
  {
    const PolicyModel policy = policy_of(config);
    device_weights(policy);
    says(refusal([&] {
           forward(policy, random_micro_batch(config, std::vector<std::int64_t>(400, 100), 2), 1.0);
         }),
         device_items::kMicroBatch);
    forward(policy, micro_batch_of(config), 1.0);  // what fits still runs
  }
  config.intermediate_size = 15000;
  {
    const PolicyModel policy = policy_of(config);
    Alone alone;
    says(refusal([&] {
           make_device_optimizer(policy, {0, weight_layout(config).size}, alone);
         }),
         device_items::kShare);
  }
  config.intermediate_size = 72, config.hidden_size = 8, config.vocab_size = 70000;
  const PolicyModel policy = policy_of(config);
  const std::vector<DecodeRequest> requests{{.prompt = {1, 2, 3}, .seed = 7, .count = 2}};
  says(refusal(
           [&] { decode(policy, requests, {.max_new_tokens = 3}, {}, {.cache_bytes = 1 << 20}); }),
       device_items::kSampling);
}

}  // namespace
}  // namespace rollcall::model::testing
