// The forecast of a run at any size: every rank accounted for once, counts positive, the same
// answer twice.
#include "sizing/forecast.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "run/context/models_of.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace rollcall::run {
namespace {

using namespace sizing;

Forecast planned(const RunConfig& config, int ranks, int threads = 1, int ranks_per_node = 1) {
  auto models = models_of(config, *text::make_tokenizer("character"));
  add_step_bounds(models, config);
  return forecast(config, models, {ranks, threads, ranks_per_node}, {64, 0});
}

void check_ranges(const Forecast& f, int ranks) {
  int next = 0;
  for (const auto& range : f.ranks) {
    ASSERT_EQ(range.first, next);
    ASSERT_LE(range.first, range.last);
    // flat and packed weights at least
    EXPECT_GT(range.use.bytes, std::uint64_t(f.parameters) * sizeof(float) * 3 / 2);
    EXPECT_FALSE(range.stages.empty());
    for (const int rank : {range.first, (range.first + range.last) / 2, range.last}) {
      std::vector<comm::Stage> hosted;
      for (std::size_t s = 0; s < f.layout.hosts.size(); ++s)
        if (f.layout.hosts_stage(rank, comm::Stage(s))) hosted.push_back(comm::Stage(s));
      EXPECT_EQ(range.stages, hosted) << "rank " << rank;
    }
    next = range.last + 1;
  }
  EXPECT_EQ(next, ranks);
}

void check_counts(const Forecast& f) {
  for (const auto count :
       {std::uint64_t(f.parameters), f.messages_per_step, f.control_bytes_per_step, f.shard_files,
        f.archive_files, f.archive_bytes, f.checkpoint_files, f.checkpoint_bytes})
    EXPECT_GT(count, 0U);
  EXPECT_EQ(f.weight_bytes_per_step > 0, f.layout.name == "disaggregated")
      << "weights move only between ranks that do not share them";
  EXPECT_EQ(f.gradient_bytes_per_step > 0, f.layout.of(comm::Stage::update).size() > 1);
}

TEST(Forecast, AccountsForEveryRankOnce) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 17, 64, 1000, 4096}) {
    for (const auto& layout : comm::valid_layouts(ranks)) {
      SCOPED_TRACE(layout + " on " + std::to_string(ranks));
      RunConfig config;
      config.run.layout = layout;
      const Forecast f = planned(config, ranks, 4);
      check_ranges(f, ranks);
      check_counts(f);
      EXPECT_EQ(to_text(f), to_text(planned(config, ranks, 4)));
    }
  }
}

/// Ten ranks of a node hold what one held, and send nothing; of two nodes of five each rank
/// exchanges a fifth with its like.
TEST(Forecast, RanksOfANodeShareWhatTheyHold) {
  RunConfig config;
  const auto weights = [](const Forecast& f) {
    return std::uint64_t(f.parameters) * sizeof(float);
  };
  const auto held = [](const Forecast& f, const std::string& what) {
    for (const auto& item : f.ranks[0].memory.held)
      if (item.what == what) return item.bytes;
    return std::uint64_t(0);
  };
  const Forecast one = planned(config, 10, 1, 10), two = planned(config, 10, 1, 5),
                 ten = planned(config, 10);
  EXPECT_EQ(held(one, "sum of gradients"), 2 * weights(one) / 10);
  EXPECT_EQ(held(two, "sum of gradients"), 2 * weights(two) / 5);
  EXPECT_EQ(held(ten, "sum of gradients"), 2 * weights(ten));
  EXPECT_EQ(held(one, "weights and their packed copy"),
            held(ten, "weights and their packed copy") / 10);
  EXPECT_EQ(one.gradient_bytes_per_step, 0U);
  EXPECT_EQ(two.gradient_bytes_per_step, 3 * weights(two) / 5);
  EXPECT_EQ(ten.gradient_bytes_per_step, 3 * weights(ten));
  config.run.layout = "disaggregated";  // rank 0, 5 that generate, 1 that scores, 3 that update
  EXPECT_EQ(planned(config, 10, 1, 10).weight_bytes_per_step, 0U);
  // to the first node, whose four readers share them
  EXPECT_EQ(planned(config, 10, 1, 5).weight_bytes_per_step, weights(one));
  EXPECT_EQ(planned(config, 10).weight_bytes_per_step, 5 * weights(one));
  EXPECT_NE(to_text(one).find("on 10 ranks of 1 node,"), std::string::npos) << to_text(one);
}

/// By hand: 64 prompts of 64 tokens and 512 answers of 24 are 16,384 tokens, which is one
/// micro-batch of a device or 16
/// of 1,024; a round of micro-batches is summed in 16 bytes a weight on the way, and new weights
/// are 4.
TEST(Forecast, DevicesMoveEveryRoundOfMicroBatches) {
  RunConfig config;
  config.run.numerics = kernels::kCudaBf16Sliced8;
  config.sampling.max_new_tokens = 24;
  const Forecast one = planned(config, 1, 1, 8), eight = planned(config, 8, 1, 8);
  const auto p = std::uint64_t(one.parameters) / 8;
  EXPECT_EQ(one.gradient_bytes_per_step, 0U);
  EXPECT_EQ(eight.gradient_bytes_per_step / 7, (16 + 4) * p);
  config.train.micro_batch_tokens = 1024;
  EXPECT_EQ(planned(config, 8, 1, 8).gradient_bytes_per_step / 7, (2 * 16 + 4) * p)
      << "16 leaves on 8 ranks";
  config.train.mini_batches = 2;
  EXPECT_EQ(planned(config, 8, 1, 8).gradient_bytes_per_step / 7, 2 * (16 + 4) * p);
  config.run.layout = "disaggregated";  // 5 devices that generate: each takes all weights, on one
                                        // node too
  const Forecast apart = planned(config, 10, 1, 10);
  EXPECT_EQ(apart.weight_bytes_per_step % 5, 0U);
  EXPECT_GE(apart.weight_bytes_per_step, 5 * 2 * std::uint64_t(apart.parameters));
}

TEST(Forecast, SaysTheWholeInOneSentence) {
  RunConfig config;
  config.train.mini_batches = 2;
  Forecast f = planned(config, 4);
  std::uint64_t peak = 0;
  for (const auto& range : f.ranks) peak = std::max(peak, range.use.bytes);
  EXPECT_TRUE(
      one_sentence(f, 10 * peak)
          .starts_with("64 prompts x 8 = 512 rollouts a step, 2 updates; longest sequence "))
      << one_sentence(f, 10 * peak);
  EXPECT_NE(one_sentence(f, 10 * peak).find(": fits, this machine has "), std::string::npos);
  EXPECT_NE(one_sentence(f, 3 * peak).find(": 3 of 4 ranks fit this machine"), std::string::npos);
  EXPECT_NE(one_sentence(f, peak - 1).find(": does not fit this machine"), std::string::npos);
  f.memory_limit = "6G";
  EXPECT_NE(one_sentence(f, peak - 1).find(": fits run.memory_limit = 6G"), std::string::npos);
}

TEST(Forecast, CountsTheMessagesOfAStepOnOneRank) {
  RunConfig config;
  const Forecast f = planned(config, 1);
  EXPECT_EQ(f.messages_per_step, 4U);  // plan, scored, update, updated
  EXPECT_EQ(f.gradient_bytes_per_step, 0U);
  EXPECT_EQ(f.archive_files, 3U + 5U);  // 200 steps, 40 a file; evaluations and manifest
}

/// Four times the ranks and the prompts: an update's plan that named every file to every rank would
/// be sixteen times as long.
TEST(Forecast, ControlMessagesGrowWithRanksPlusStep) {
  RunConfig config;
  config.run.layout = "colocated", config.train.prompts_per_step = 1024;
  const auto few = planned(config, 1024).control_bytes_per_step;
  config.train.prompts_per_step = 4096;
  EXPECT_LE(planned(config, 4096).control_bytes_per_step, 4 * few);
}

/// 4,096 ranks that all generate, 10^4 steps: 4,096 shards a step and one file of what it trained
/// on; packed every 40 steps, at checkpoints every 20, so that 60 steps may wait after a fall back.
TEST(Forecast, KeepsALargeRunWithinAQuotaOfFiles) {
  RunConfig config;
  config.run.layout = "colocated", config.train.prompts_per_step = 4096, config.train.steps = 10000;
  const Forecast f = planned(config, 4096);
  EXPECT_EQ(f.unpacked_files, 40'970'000U);
  EXPECT_EQ(f.shard_files, 60U * 4097U);
  EXPECT_EQ(f.archive_files, 3U + 250U);
  // of a small model's optimizer: 1 MiB of moments each
  const std::uint64_t shares = 8 * std::uint64_t(f.parameters) >> 20;
  ASSERT_GT(shares, 1U);
  // four checkpoints, each with the shares of the optimizer; 24 others
  EXPECT_EQ(f.most_files, 60U * 4097U + 253U + 4U * (8U + shares) + 24U);
  EXPECT_NO_THROW(check_quota(f, {.files = 1'000'000, .bytes = 0}));
  EXPECT_NO_THROW(check_quota(f, {}));
  try {
    check_quota(f, {.files = 200'000, .bytes = 0});  // (200,000 - 253 - 4 x (8 + shares) - 24) /
                                                     // 4,097 = 48.7 steps
    ADD_FAILURE() << "a quota of 200,000 files is too small";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("no more than 48 steps wait"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(check_quota(f, {.files = 0, .bytes = 1'000'000'000}), ConfigError);
  const Forecast together = planned(config, 4096, 1, 64);
  EXPECT_EQ(together.unpacked_files, 40'960'000U / 8 + 10'000U)
      << "up to eight ranks of a node store one file";
  EXPECT_EQ(together.messages_per_step, f.messages_per_step)
      << "seven of eight tell the eighth what they told rank 0";
  ASSERT_EQ(together.ranks.size(), 2U)
      << "rank 0, and all others: any of them may store what eight have judged";
  const auto items = items_text(together.ranks[1].memory);
  EXPECT_NE(items.find("rollouts of ranks on its node"), std::string::npos) << items;
  EXPECT_EQ(items_text(f.ranks.back().memory).find("rollouts of ranks on its node"),
            std::string::npos)
      << "alone on its node";
  config.reward.verifier = "code";  // a verdict is dear: each rank's is stored at once
  EXPECT_EQ(planned(config, 4096, 1, 64).unpacked_files, 40'970'000U);
  config.reward.verifier.clear();
  config.run.layout = "disaggregated";
  const Forecast apart = planned(config, 4096);
  EXPECT_EQ(apart.step_files, 2 * apart.layout.of(comm::Stage::generation).size() + 1)
      << "other ranks score";
}

/// The model is that of the folder which the run will read, and a frozen reference is a second one.
TEST(Forecast, CountsTheModelsThatTheRunWillHold) {
  RunConfig config;
  const Forecast small = planned(config, 1);
  const auto model_bytes = [policy = models_of(config, *text::make_tokenizer("character")).policy](
                               const std::string& numerics) {
    return sizeof(float) * std::uint64_t(model::weight_layout(policy).size) +
           std::uint64_t(
               model::packed_bytes(policy, *kernels::kernels_by_name("scalar", numerics)));
  };
  const auto folder =
      std::filesystem::temp_directory_path() / ("rollcall_forecast_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  ModelSection section = config.model;
  section.hidden_size *= 2;
  const auto large = model::model_config(section, 20, 0);
  write_file_atomic(folder / "config.json", model::to_config_json(large));
  config.model.path = folder.string();
  EXPECT_EQ(planned(config, 1).parameters, model::weight_layout(large).size);
  EXPECT_GT(planned(config, 1).ranks[0].use.bytes, small.ranks[0].use.bytes);
  config.model.path = (folder / "nothing").string();
  EXPECT_THROW(planned(config, 1), InputError);
  std::filesystem::remove_all(folder);
  config.model.path.clear();
  config.objective.pieces.emplace_back("regularizer", "kl");
  config.objective.knobs.emplace_back("kl_anchor", "reference");
  EXPECT_EQ(planned(config, 1).ranks[0].use.bytes,
            small.ranks[0].use.bytes + model_bytes(config.run.numerics));
  const std::uint64_t in_fp32 = planned(config, 1).ranks[0].use.bytes;
  config.run.numerics = kernels::kBf16Sliced8;  // two models whose packed copies take less
  const std::uint64_t saved =
      2 * (model_bytes(kernels::kFp32FixedOrder) - model_bytes(kernels::kBf16Sliced8));
  EXPECT_GT(saved, 0U);
  // keys and values take less, too
  EXPECT_LE(planned(config, 1).ranks[0].use.bytes, in_fp32 - saved);
}

/// DAPO refills a step up to ten times: rollouts, shards and what the update holds are of ten.
TEST(Forecast, CountsWhatAStepMayDraw) {
  RunConfig config;
  config.scheduler.policy = "uniform";
  const Forecast plain = planned(config, 1);
  const auto columns = [](const Forecast& f, const std::string& what) {
    for (const auto& item : f.ranks[0].memory.held)
      if (item.what == what) return item.bytes;
    return std::uint64_t(0);
  };
  config.scheduler.policy = "dapo";
  const Forecast refilled = planned(config, 1);
  EXPECT_NE(to_text(refilled).find("draws up to 5120 rollouts in up to 10 rounds"),
            std::string::npos)
      << to_text(refilled);
  EXPECT_EQ(to_text(plain).find("draws up to"), std::string::npos);
  EXPECT_GT(refilled.archive_bytes, 9 * plain.archive_bytes);
  EXPECT_EQ(refilled.step_files, 10 * (plain.step_files - 1) + 1);
  EXPECT_EQ(columns(refilled, "columns of a step"), 10 * columns(plain, "columns of a step"));
  config.scheduler.policy = "uniform", config.replay.share = 0.5;
  const Forecast replaying = planned(config, 1);
  EXPECT_EQ(columns(replaying, "columns of a step"), 2 * columns(plain, "columns of a step"));
  EXPECT_EQ(columns(plain, "rollouts kept for replay"), 0U);
  EXPECT_EQ(columns(replaying, "rollouts kept for replay"),
            17 * columns(plain, "columns of a step") / 2)
      << "16 versions behind this step's";
  EXPECT_EQ(replaying.archive_bytes, plain.archive_bytes) << "nothing is archived again";
  config.replay.share = 0.0, config.objective.recipe = "remax";
  EXPECT_NEAR(double(planned(config, 1).archive_bytes), 9.0 / 8 * double(plain.archive_bytes),
              0.01 * double(plain.archive_bytes))
      << "a greedy answer a prompt";
}

TEST(Forecast, CountsAReferenceInCheckpointsAndTheIdsOfKeptTokens) {
  RunConfig config;
  const Forecast plain = planned(config, 1);
  config.objective.pieces.emplace_back("regularizer", "kl");
  config.objective.knobs.emplace_back("kl_anchor", "reference");
  EXPECT_EQ(planned(config, 1).checkpoint_bytes, plain.checkpoint_bytes / 3 * 4);
  config = {};
  config.sampling.top_k = 20;
  const std::uint64_t masses = planned(config, 1).archive_bytes;
  config.sampling.logprob = "kept";
  const Forecast kept = planned(config, 1);
  const auto tokens = std::uint64_t(config.train.steps * 512 * config.sampling.max_new_tokens);
  EXPECT_EQ(kept.archive_bytes, masses + tokens * 20 * 4);
  EXPECT_EQ(to_text(kept).find("not counted"), std::string::npos);
  config.sampling.top_k = 0, config.sampling.top_p = 0.9;
  EXPECT_NE(to_text(planned(config, 1)).find("not counted: the ids"), std::string::npos);
}

/// The prompt has 64 tokens, and the model 512 positions.
TEST(Forecast, CountsConversationsByAllThatIsSaid) {
  RunConfig config;
  const Forecast plain = planned(config, 1);
  EXPECT_EQ(plain.new_tokens, config.sampling.max_new_tokens);
  config.environment.command = {"./env"}, config.environment.max_tokens = plain.new_tokens;
  const Forecast cut = planned(config, 1);
  EXPECT_EQ(cut.new_tokens, plain.new_tokens);
  // turns are stored, and conversations are held while they last
  EXPECT_GT(cut.archive_bytes, plain.archive_bytes);
  EXPECT_GT(cut.ranks[0].use.bytes, plain.ranks[0].use.bytes);
  config.environment.max_turns = 3;
  EXPECT_LT(planned(config, 1).archive_bytes, cut.archive_bytes);
  config.environment.max_tokens = 0;
  const Forecast talking = planned(config, 1);
  EXPECT_EQ(talking.new_tokens, 512 - 64);
  EXPECT_GT(talking.archive_bytes, cut.archive_bytes);
  EXPECT_GT(talking.ranks[0].use.bytes, cut.ranks[0].use.bytes);
  EXPECT_NE(to_text(talking).find("a conversation: up to 3 turns, 448 tokens after the prompt"),
            std::string::npos);
  EXPECT_EQ(to_text(plain).find("a conversation"), std::string::npos);
}

TEST(Forecast, RefusesALayoutThatDoesNotFit) {
  RunConfig config;
  config.run.layout = "disaggregated";
  EXPECT_THROW(planned(config, 3), EnvironmentError);
  config.run.layout = "single";
  EXPECT_THROW(planned(config, 2), EnvironmentError);
}

}  // namespace
}  // namespace rollcall::run
