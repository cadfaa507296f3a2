// Steps of decoding as graphs: the bits of launches one by one whatever the graph was captured
// with, and copies to where graphs read that never come early or late.
#include "model/device/device_graphs.hpp"
#include "emulation.hpp"
#include "model/decode/decode.hpp"
#include "model/engine/engine.hpp"
#include "model/engine/packed_policy.hpp"
#include "model/small_models.hpp"
#include "model/train/policy_optimizer.hpp"

#include <gtest/gtest.h>

namespace rollcall::model::testing {
namespace {

namespace cuda = kernels::cuda;

constexpr std::int64_t kRows = 80;

ModelConfig config_of(Family family) {
  ModelConfig config = small_config(family);
  config.max_position_embeddings = 128;
  return config;
}

/// What a session would ask of an engine, for steps that the test chooses. `anew`: of another
/// engine each time, which knows no step and launches all of it.
class Steps {
 public:
  enum class Engine { kept, anew };
  Steps(const PolicyModel& policy, const SamplingParams& sampling, Engine engine,
        std::size_t sequences)
      : policy_(&policy),
        sampling_(sampling),
        anew_(engine == Engine::anew),
        shape_(page_shape(policy.packed())),
        layers_(policy.config().num_hidden_layers),
        pool_(layers_ * shape_.bytes(), std::int64_t(2 * sequences), made()->page_memory()),
        runs_(sequences) {
    // one comes to the end of its page
    for (std::size_t s = 0; s < sequences; ++s) step({s}, s == 1 ? 62 : 2 + std::int64_t(s));
  }

  /// `count` rows of each of these sequences and `drawn` draws from each; what is read and drawn
  /// follows from the sequence, its position and `seed`.
  std::vector<SampledToken> step(const std::vector<std::size_t>& sequences, std::int64_t count = 1,
                                 std::uint64_t seed = 0, std::size_t drawn = 1) {
    StepRows rows(shape_);
    std::vector<std::int64_t> last;
    for (const std::size_t s : sequences) {
      KvPages& run = runs_[s];
      while (std::int64_t(run.pages.size()) < kernels::pages_of(run.computed + count))
        run.push(pool_.take());
      const RandomStream stream(seed, RandomPurpose::test, 8, s);
      const Piece piece = rows.add(run, count, [&](std::int64_t p) {
        return std::int32_t(
            stream.below(std::uint64_t(p), std::uint64_t(policy_->config().vocab_size)));
      });
      run.computed += count;
      last.push_back(piece.first_row + count - 1);
    }
    DecodeEngine& engine = *made();
    const float* hidden = engine.hidden(policy_->packed(), rows);
    std::vector<SampleRequest> draws;
    for (std::size_t i = 0; i < drawn * sequences.size(); ++i) {
      const std::size_t of = i / drawn, s = sequences[of];
      draws.push_back({hidden + last[of] * policy_->config().hidden_size,
                       RandomStream(seed, RandomPurpose::test, 9, s)
                           .uniform(std::uint64_t(runs_[s].computed) + 1000 * (i % drawn))});
    }
    return engine.draw(policy_->packed(), draws);
  }

 private:
  DecodeEngine* made() {
    if (engine_ == nullptr || anew_)
      engine_.reset(), engine_ = make_decode_engine(policy_->packed(), sampling_, team_, kRows);
    return engine_.get();
  }
  const PolicyModel* policy_;
  SamplingParams sampling_;
  bool anew_;
  Team team_;
  std::unique_ptr<DecodeEngine> engine_;
  PageShape shape_;
  std::int64_t layers_;
  PagePool pool_;
  std::vector<KvPages> runs_;
};

void expect_equal(const std::vector<SampledToken>& a, const std::vector<SampledToken>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token, b[i].token) << i;
    EXPECT_EQ(a[i].logprob, b[i].logprob) << i;
    EXPECT_EQ(a[i].entropy, b[i].entropy) << i;
  }
}

/// Batches of several sizes, that grow, shrink and change their members: other tokens, positions,
/// pages and random numbers in the same graph.
TEST(DeviceGraphs, DecodingByGraphsHasTheBitsOfLaunches) {
  const SamplingParams full{.temperature = 0.8, .max_new_tokens = 9},
      greedy{.temperature = 0.0, .max_new_tokens = 9},
      truncated{.top_k = 5, .top_p = 0.8, .max_new_tokens = 9};
  for (const auto& [family, sampling] :
       {std::pair(Family::llama, full), std::pair(Family::qwen2, greedy),
        std::pair(Family::qwen3, truncated)}) {
    const ModelConfig config = config_of(family);
    const PolicyModel policy(config, random_weights(config, 5), {},
                             &kernels::selected_kernels(kernels::kCudaBf16Sliced8));
    Steps graphs(policy, sampling, Steps::Engine::kept, 9),
        launches(policy, sampling, Steps::Engine::anew, 9);
    std::uint64_t seed = 3;
    const std::vector<std::vector<std::size_t>> batches{{0, 1, 2, 3, 4},
                                                        {1, 2, 3, 4, 5, 6},
                                                        {6, 2, 0, 1, 4},
                                                        {0},
                                                        {5},
                                                        {3},
                                                        {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                                        {8, 7, 6, 5, 4, 3, 2, 1, 0},
                                                        {0, 2, 4, 6, 1}};
    for (const auto& batch : batches) {
      emulation::seed(seed);
      const auto before = emulation::graph_counts().launched;
      const auto expected = launches.step(batch, 1, seed);
      EXPECT_EQ(emulation::graph_counts().launched, before)
          << "an engine that is new launches call by call";
      expect_equal(graphs.step(batch, 1, seed++), expected);
    }
    expect_equal(graphs.step({2, 3, 5, 7}, 1, seed, 2), launches.step({2, 3, 5, 7}, 1, seed, 2));
    expect_equal(graphs.step({4, 6, 3, 8}, 1, seed), launches.step({4, 6, 3, 8}, 1, seed));
    // rows of a graph, draws that are new
    expect_equal(graphs.step({0, 1, 2, 3}, 1, seed, 4), launches.step({0, 1, 2, 3}, 1, seed, 4));
    EXPECT_EQ(emulation::graph_counts().kept, 7)
        << "rows and draws of 1, of 6, which stand for 5, and of 12, for 9; rows of 4";
  }
  EXPECT_EQ(emulation::graph_counts().kept, 0) << "graphs go with their engine";
}

TEST(DeviceGraphs, AGraphReadsTheWeightsThatArePublished) {
  const ModelConfig config = config_of(Family::qwen2);
  auto weights = std::make_shared<AlignedFloats>(std::span<const float>(random_weights(config, 1)));
  PolicyModel policy(config, std::shared_ptr<const AlignedFloats>(weights), PolicyVersion{1},
                     &kernels::selected_kernels(kernels::kCudaBf16Sliced8));
  const SamplingParams sampling{.temperature = 0.8, .max_new_tokens = 9};
  Steps graphs(policy, sampling, Steps::Engine::kept, 3),
      launches(policy, sampling, Steps::Engine::anew, 3);
  std::vector<SampledToken> last;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    last = graphs.step({0, 1, 2}, 1, seed);
    expect_equal(last, launches.step({0, 1, 2}, 1, seed));
  }
  const auto others = random_weights(config, 3);
  std::copy(others.begin(), others.end(), weights->data());
  policy.renew(PolicyVersion{2});
  const auto launched = emulation::graph_counts().launched;
  const auto renewed = graphs.step({0, 1, 2}, 1, 2);
  EXPECT_EQ(emulation::graph_counts().launched, launched + 2) << "addresses stay, so graphs do";
  expect_equal(renewed, launches.step({0, 1, 2}, 1, 2));
  EXPECT_NE(renewed[0].entropy, last[0].entropy);
}

/// Through a session: refill, prompts beside others' draws, and the last rows alone.
TEST(DeviceGraphs, ASessionLaunchesThem) {
  const ModelConfig config = config_of(Family::llama);
  const PolicyModel policy(config, random_weights(config, 5), {},
                           &kernels::selected_kernels(kernels::kCudaBf16Sliced8));
  std::vector<DecodeRequest> requests;
  for (std::uint64_t g = 0; g < 3; ++g)
    requests.push_back({.prompt = random_micro_batch(config, {3 + std::int64_t(g)}, g).tokens,
                        .seed = 7,
                        .prompt_address = g,
                        .count = 2});
  const auto before = emulation::graph_counts().launched;
  decode(policy, requests, {.max_new_tokens = 12}, {}, {});
  EXPECT_GT(emulation::graph_counts().launched - before, 12);
  emulation::refuse_captures(true);
  try {
    decode(policy, requests, {.max_new_tokens = 12}, {}, {});
    ADD_FAILURE() << "a driver that makes no graphs was not noticed";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("a CUDA graph could not be made: cudaStreamBeginCapture failed"))
        << error.what();
  }
  emulation::refuse_captures(false);
}

TEST(DeviceGraphs, AreBoundedAndOfOnePolicy) {
  const ModelConfig config = config_of(Family::llama);
  const PolicyModel one(config, random_weights(config, 5), {},
                        &kernels::selected_kernels(kernels::kCudaBf16Sliced8)),
      other(config, random_weights(config, 6), {}, one.packed().kernels);
  device_weights(one), device_weights(other);
  Device& device = Device::own();
  const auto memory = cuda::device_memory(4, "one number");
  int called = 0;
  const auto work = [&] { ++called, cuda::fill_zeros(device.context(), memory.get(), 4); };
  {
    StepGraphs graphs;
    const auto run = [&](const PolicyModel& policy, std::int64_t rows) {
      graphs.run(policy.packed().on_device, StepGraphs::Work::rows, rows, device.context(), work);
      device.wait();
    };
    constexpr auto kMost = std::int64_t(StepGraphs::kMost);
    for (std::int64_t rows = 1; rows <= kMost; ++rows)
      for (int time = 0; time < 3; ++time) run(one, rows);
    EXPECT_EQ(called, 2 * kMost) << "launched once, captured once";
    EXPECT_EQ(emulation::graph_counts().kept, kMost);
    run(one, 1);  // needed again, so 2 is the oldest now
    run(one, kMost + 1);
    EXPECT_EQ(emulation::graph_counts().kept, kMost - 1);
    called = 0;
    run(one, 1);
    EXPECT_EQ(called, 0);
    run(one, 2);
    EXPECT_EQ(called, 1) << "it was dropped";
    run(other, 1);
    EXPECT_EQ(emulation::graph_counts().kept, 0) << "another policy's weights stand elsewhere";
  }
}

TEST(DeviceGraphs, FewShapesServeAllNumbersOfRows) {
  std::vector<std::int64_t> shapes;
  for (std::int64_t rows = 1; rows <= 256; ++rows) {
    const std::int64_t filled = filled_rows(rows);
    EXPECT_TRUE(filled >= rows && filled - rows < kernels::kPageKeys && 2 * filled <= 3 * rows + 1)
        << rows;
    if (shapes.empty() || shapes.back() != filled) shapes.push_back(filled);
  }
  EXPECT_EQ(shapes, (std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
                                               192, 256}));
  EXPECT_EQ(filled_rows(700), 704);
}

/// What goes over is read from pinned memory, and written where others read, when the copies are
/// done, which is late.
TEST(DeviceInput, IsWrittenWhenItIsReadAndReadWhenItIsWritten) {
  constexpr int kTimes = 6;
  Device& device = Device::own();
  for (std::uint64_t order = 0; order < 10; ++order) {
    emulation::seed(order);
    DeviceArena arena(device_items::kSampling);
    arena.reserve(1 << 12);
    DeviceInput input(device, arena, 2 * sizeof(int));
    int* const seen = arena.take<int>(kTimes);
    for (int time = 0; time < kTimes; ++time) {
      const int first = time, second = 10 * time;
      input.begin();
      input.put(std::span(&first, 1));
      const int* place = input.put(std::span(&second, 1));
      input.send();
      cuda::copy_on_device(device.context(), seen + time, place, sizeof(int));
      input.read();
    }
    std::vector<int> got(kTimes);
    device.download(seen, std::span(got));
    device.wait();
    EXPECT_EQ(got, (std::vector<int>{0, 10, 20, 30, 40, 50})) << order;
  }
}

}  // namespace
}  // namespace rollcall::model::testing
