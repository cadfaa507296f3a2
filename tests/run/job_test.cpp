// Whole jobs with ranks as threads: one result in every layout, and stop and resume that leave no
// trace in it.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/archive.hpp"
#include "io/sample_run.hpp"
#include "report/metrics.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/metric_names.hpp"
#include "run/messages/messages.hpp"
#include "run/rank.hpp"
#include "run/step/step_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace rollcall::run {
namespace {

using io::test::RunFolder;

struct Shape {
  const char* layout;
  int ranks;
  int on_node = 0;  ///< ranks of a node; 0: all
  std::vector<std::string> settings{};
};

JobRequest request(const RunFolder& folder, const Shape& shape, bool resume = false) {
  std::vector<std::string> settings{"run.threads=1",
                                    "run.log_level=error",
                                    "task.name=sorting",
                                    "task.train_prompts=32",
                                    "task.validation_prompts=4",
                                    "task.heldout_prompts=4",
                                    "task.min_level=1",
                                    "task.max_level=2",
                                    "task.format_weight=0.5",
                                    "model.hidden_size=32",
                                    "model.intermediate_size=48",
                                    "model.num_hidden_layers=1",
                                    "model.num_attention_heads=2",
                                    "model.num_key_value_heads=1",
                                    "model.head_dim=16",
                                    "model.max_position_embeddings=32",
                                    "sampling.max_new_tokens=5",
                                    "sft.steps=25",
                                    "sft.batch_size=16",
                                    "sft.lr=1e-2",
                                    "sft.warmup_steps=0",
                                    "train.steps=2",
                                    "train.prompts_per_step=6",
                                    "train.rollouts_per_prompt=4",
                                    "train.lr=1e-2",
                                    "train.micro_batch_tokens=64",
                                    "train.mini_batches=2",
                                    "eval.samples=4",
                                    "eval.pass_k=2",
                                    "eval.bootstrap=10",
                                    "eval.every=1",
                                    "eval.validation_samples=2",
                                    "archive.pack_every=1",
                                    "run.deadline_s=60"};
  settings.insert(settings.end(), shape.settings.begin(), shape.settings.end());
  settings.push_back("run.dir=\"" + folder.path().string() + "\"");
  settings.push_back(std::string("run.layout=") + shape.layout);
  return {.kind = JobKind::train,
          .run_file = {},
          .assignments = settings,
          .start = resume ? Start::resume : Start::fresh,
          .binary_version = [] { return std::string("test"); },
          .evaluate = {}};
}

/// The messages of a world. Leaves a stop file in the run folder when its rank sends a message of
/// this kind.
class StoppingMessages final : public comm::Messages {
 public:
  StoppingMessages(comm::Communicator& world, Tag on, std::filesystem::path stop)
      : world_(&world), on_(on), stop_(std::move(stop)) {}
  void send(int destination, int tag, std::string bytes) override {
    if (Tag(tag) == on_) write_file_atomic(stop_, "");
    world_->send(destination, tag, std::move(bytes));
  }
  std::optional<comm::Envelope> try_receive() override { return world_->try_receive(); }

 private:
  comm::Communicator* world_;
  Tag on_;
  std::filesystem::path stop_;
};

/// A world that is asked to stop at one and the same place in every run.
class Stopping final : public comm::Communicator {
 public:
  Stopping(comm::Communicator& world, Tag on, std::filesystem::path stop) : world_(&world) {
    roll_ = world.roll();
    messages_ = std::make_unique<StoppingMessages>(world, on, std::move(stop));
  }
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  void sum(std::span<std::int64_t> values) override { world_->sum(values); }
  void maximum(std::span<double> values) override { world_->maximum(values); }
  void broadcast(std::span<std::byte> bytes, int root) override { world_->broadcast(bytes, root); }
  void barrier() override { world_->barrier(); }
  std::unique_ptr<comm::Communicator> split(int color) override { return world_->split(color); }
  std::unique_ptr<comm::Communicator> split_by_node() override { return world_->split_by_node(); }
  SharedMemory share_memory(std::size_t bytes) override { return world_->share_memory(bytes); }
  std::vector<std::string> gather_all(const std::string& bytes) override {
    return world_->gather_all(bytes);
  }
  [[noreturn]] void abort(int exit_code) override {
    for (;;) world_->abort(exit_code);
  }

 private:
  comm::Communicator* world_;
};

/// Runs the job; every rank must end with `expected`. With `stop_on`, it is asked to stop when that
/// message is sent.
void run(const RunFolder& folder, const Shape& shape, ExitCode expected, bool resume = false,
         std::optional<Tag> stop_on = {}) {
  std::atomic<int> agreeing = 0;
  const JobRequest what = request(folder, shape, resume);
  comm::run_as_threads(
      shape.ranks,
      [&](comm::Communicator& world) {
        Stopping stopping(world, stop_on.value_or(Tag::finish), folder.path() / "stop");
        agreeing += run_job(stop_on ? stopping : world, what) == expected ? 1 : 0;
      },
      shape.on_node);
  EXPECT_EQ(agreeing, shape.ranks)
      << shape.layout << ": not every rank ended with exit code " << int(expected);
}

/// What a result must share with every other result of the same run file.
std::vector<std::string> outcome(const RunFolder& folder) {
  const auto result = nlohmann::json::parse(read_file(folder.path() / "result.json"));
  std::vector<std::string> facts;
  for (const char* key :
       {"policy_sha256", "archive_sha256", "data_hash", "train_steps", "rollouts_total",
        "rollouts_per_level", "eval_before", "eval_after", "gain"})
    facts.push_back(std::string(key) + " " + result.at(key).dump());
  return facts;
}

const std::vector<std::string>& undisturbed() {
  static const auto facts = [] {
    const RunFolder folder;
    run(folder, {"single", 1}, ExitCode::done);
    const MetricNames known(RunConfig{}, {"correct", "format"});
    for (const auto& row : report::read_metrics(folder.path())) {
      if (row.phase != "train") continue;
      for (const auto& [name, value] : row.values)
        EXPECT_TRUE(known.knows(name))
            << name << ": a run file cannot name it, since run/coordinator/metric_names does not";
      for (const auto& [name, value] : row.values)
        EXPECT_TRUE(name != "actor/grad_norm" || value > 0)
            << "step " << row.step << " moved nothing: equal bits say nothing";
    }
    std::size_t archived = 0;
    for (const auto& entry : io::read_manifest(folder.path())) {
      for (const auto& of : io::read_archive(folder.path(), entry)) {
        if (of.purpose != Purpose::train) continue;
        // 25 supervised updates, then two mini-batches a step.
        EXPECT_EQ(sampled_by(of.group).value_or(25 + 2 * (of.step - 1)), 25 + 2 * (of.step - 1))
            << "step " << of.step;
        ++archived;
      }
    }
    EXPECT_EQ(archived, 12U);
    return outcome(folder);
  }();
  return facts;
}

TEST(RunContext, EndsWithTheSameBitsInEveryLayout) {
  for (const Shape& shape :
       {Shape{"colocated", 1}, Shape{"colocated", 3}, Shape{"disaggregated", 4}}) {
    const RunFolder folder;
    run(folder, shape, ExitCode::done);
    EXPECT_EQ(outcome(folder), undisturbed()) << shape.layout << " on " << shape.ranks;
  }
}

/// Large enough that three ranks have a share of the optimizer. Ranks of a node share weights and
/// sums; nodes of two leave one rank alone, which stands in for the place that its node does not
/// have. Disaggregated, one node generates and another updates, or both are on one.
TEST(RunContext, EndsWithTheSameBitsWhereverItsRanksAre) {
  const std::vector<std::string> larger{"model.hidden_size=128",
                                        "model.intermediate_size=384",
                                        "model.num_hidden_layers=2",
                                        "model.num_attention_heads=4",
                                        "model.num_key_value_heads=2",
                                        "model.head_dim=32",
                                        "sft.steps=12",
                                        "sft.lr=3e-3"};
  std::vector<std::string> expected;
  for (const Shape& shape :
       {Shape{"single", 1, 0, larger}, Shape{"colocated", 3, 0, larger},
        Shape{"colocated", 3, 2, larger}, Shape{"colocated", 3, 1, larger},
        Shape{"disaggregated", 4, 2, larger}, Shape{"disaggregated", 8, 3, larger},
        Shape{"disaggregated", 4, 0, larger}}) {
    SCOPED_TRACE(::testing::Message()
                 << shape.layout << " on " << shape.ranks << ", " << shape.on_node << " on a node");
    const RunFolder folder;
    run(folder, shape, ExitCode::done);
    if (expected.empty()) {
      expected = outcome(folder);
      const auto rows = report::read_metrics(folder.path());
      const auto moved = [](const auto& row) {
        return row.phase == "train" &&
               std::any_of(row.values.begin(), row.values.end(), [](const auto& v) {
                 return v.first == "actor/grad_norm" && v.second > 0;
               });
      };
      EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), moved))
          << "no step moved the weights: equal bits say nothing";
    }
    EXPECT_EQ(outcome(folder), expected);
  }
  const RunFolder folder;
  run(folder, {"colocated", 3, 2, larger}, ExitCode::requeue, false, Tag::update);
  run(folder, {"colocated", 3, 1, larger}, ExitCode::done, true);
  EXPECT_EQ(outcome(folder), expected) << "resumed on other nodes";
}

TEST(RunContext, StopsAndResumesWithTheSameBits) {
  const RunFolder folder;
  const Shape shape{"disaggregated", 4};
  run(folder, shape, ExitCode::requeue, false, Tag::supervise);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoints/sft_000001"));
  run(folder, shape, ExitCode::requeue, true, Tag::update);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoints/train_000001"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "result.json"));
  run(folder, shape, ExitCode::done, true);
  EXPECT_EQ(outcome(folder), undisturbed());
}

TEST(RunContext, ResumesInAnotherLayout) {
  const RunFolder folder;
  run(folder, {"colocated", 3}, ExitCode::requeue, false, Tag::update);
  run(folder, {"single", 1}, ExitCode::done, true);
  EXPECT_EQ(outcome(folder), undisturbed());
}

TEST(RunContext, IsDoneWhenResumedAfterItsEnd) {
  const RunFolder folder;
  run(folder, {"colocated", 2}, ExitCode::done);
  run(folder, {"colocated", 2}, ExitCode::done, true);
  EXPECT_EQ(outcome(folder), undisturbed());
}

TEST(RunContext, EndsEveryRankAlikeWhenRankZeroFindsAFault) {
  const RunFolder folder;
  run(folder, {"disaggregated", 4}, ExitCode::requeue, false, Tag::supervise);
  // the folder holds a run and this is no resume
  run(folder, {"disaggregated", 4}, ExitCode::misconfigured);
  run(folder, {"single", 3}, ExitCode::misconfigured, true);  // no such layout
}

}  // namespace
}  // namespace rollcall::run
