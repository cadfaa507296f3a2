// What durability costs over the bare bytes: publishing one step's files, packing twenty, and
// checkpoints, against write + fsync + rename of the same bytes.
#include "base/files/file.hpp"
#include "base/time/clock.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "sample_step.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::io;
using bench::kIdentity, bench::Step, bench::make_step;
namespace fs = std::filesystem;

/// On ROLLCALL_BENCH_DIR when set (a parallel file system, say), else where temporary files go.
/// /dev/shm shows the cost without fsync.
struct RunFolder {
  fs::path path;
  explicit RunFolder(const char* where) {
    const char* chosen = std::getenv("ROLLCALL_BENCH_DIR");
    path = (where != nullptr    ? fs::path(where)
            : chosen != nullptr ? fs::path(chosen)
                                : fs::temp_directory_path()) /
           ("rollcall_bench_" + std::to_string(::getpid()));
    fs::create_directories(path);
  }
  ~RunFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

template <class F>
double timed(const F& f) {
  const Stopwatch watch;
  f();
  return watch.seconds();
}

/// The two in turns, ABBA, so that drift of the machine falls on both; the ratio is the median of
/// the pairs'.
template <class A, class B>
void compare(benchmark::State& state, double bytes, const A& ours, const B& raw) {
  std::vector<double> ours_s, raw_s, ratios;
  bool flip = false;
  for (auto _ : state) {
    double a = 0, b = 0;
    if (flip) b = timed(raw);
    a = timed(ours);
    if (!flip) b = timed(raw);
    flip = !flip;
    ours_s.push_back(a);
    raw_s.push_back(b);
    ratios.push_back(a / b);
    state.SetIterationTime(a);
  }
  state.counters["ours_ms"] = 1e3 * median(ours_s);
  state.counters["raw_ms"] = 1e3 * median(raw_s);
  state.counters["ratio"] = median(ratios);
  state.counters["KiB"] = bytes / 1024;
}

void publish_shard(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Step step = make_step(1, std::size_t(state.range(0)));
  const PublishedFile file = publish(run.path, draft_shard(step.shard, step.prompts, kIdentity));
  const std::string bytes = read_file(run.path / file.path);
  compare(
      state, double(bytes.size()),
      [&] { publish(run.path, draft_shard(step.shard, step.prompts, kIdentity)); },
      [&] { write_file_atomic(run.path / "raw", bytes); });
}

void publish_scores(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Step step = make_step(1, 20);
  const PublishedFile file = publish(run.path, draft_scores(step.scores, step.shard, kIdentity));
  const std::string bytes = read_file(run.path / file.path);
  compare(
      state, double(bytes.size()),
      [&] { publish(run.path, draft_scores(step.scores, step.shard, kIdentity)); },
      [&] { write_file_atomic(run.path / "raw", bytes); });
}

/// A shard with its scores, in one file instead of two: "raw" is the two.
void publish_in_one(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Step step = make_step(1, std::size_t(state.range(0)));
  const PublishedFile file =
      publish(run.path, draft_scored(step.shard, step.prompts, step.scores, kIdentity));
  compare(
      state, double(file.bytes),
      [&] { publish(run.path, draft_scored(step.shard, step.prompts, step.scores, kIdentity)); },
      [&] {
        publish(run.path, draft_shard(step.shard, step.prompts, kIdentity));
        publish(run.path, draft_scores(step.scores, step.shard, kIdentity));
      });
}

void read_back(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Step step = make_step(1, std::size_t(state.range(0)));
  const PublishedFile file = publish(run.path, draft_shard(step.shard, step.prompts, kIdentity));
  compare(
      state, double(file.bytes), [&] { benchmark::DoNotOptimize(read_shard(run.path, file)); },
      [&] { benchmark::DoNotOptimize(read_file(run.path / file.path)); });
}

/// Twenty steps into one file by one rank: reading and checking the shards, writing, reading back,
/// publishing, removing the shards.
void pack_steps(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const auto alone = comm::alone();
  std::vector<Step> steps;
  for (std::uint64_t s = 0; s < 20; ++s) steps.push_back(make_step(s, std::size_t(state.range(0))));
  std::vector<PackInput> inputs(steps.size());
  const auto publish_all = [&] {
    std::filesystem::remove_all(run.path / "archive");  // nobody packs a step twice
    for (std::size_t s = 0; s < steps.size(); ++s)
      inputs[s] = {publish(run.path, draft_shard(steps[s].shard, steps[s].prompts, kIdentity)),
                   publish(run.path, draft_scores(steps[s].scores, steps[s].shard, kIdentity))};
  };
  publish_all();
  const std::string bytes =
      read_file(run.path / pack(*alone, run.path, "pack", inputs, kIdentity).file.path);
  std::vector<double> ours_s, raw_s, ratios;
  for (auto _ : state) {
    publish_all();
    const double a = timed([&] { pack(*alone, run.path, "pack", inputs, kIdentity); });
    const double b = timed([&] { write_file_atomic(run.path / "raw", bytes); });
    ours_s.push_back(a);
    raw_s.push_back(b);
    ratios.push_back(a / b);
    state.SetIterationTime(a);
  }
  state.counters["ours_ms"] = 1e3 * median(ours_s);
  state.counters["raw_ms"] = 1e3 * median(raw_s);
  state.counters["ratio"] = median(ratios);
  state.counters["KiB"] = double(bytes.size()) / 1024;
}

/// As a model's checkpoint is: a file of weights and one of twice its size for the moments.
std::map<std::string, std::string> checkpoint_files(std::size_t bytes) {
  std::map<std::string, std::string> files{
      {"model.safetensors", std::string(bytes / 3, 'w')},
      {"optimizer.safetensors", std::string(bytes - bytes / 3, 'm')}};
  for (auto& [name, content] : files)
    for (std::size_t i = 0; i < content.size(); i += 64)
      content[i] = char(i / 64 * 2654435761U >> 16);
  return files;
}

void write_whole_checkpoint(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Checkpoint checkpoint{"train_000001", checkpoint_files(std::size_t(state.range(0)) << 20)};
  compare(
      state, double(state.range(0)) * (1 << 20), [&] { write_checkpoint(run.path, checkpoint); },
      [&] {
        for (const auto& [name, content] : checkpoint.files)
          write_file_atomic(run.path / name, content);
      });
}

void verify_checkpoint(benchmark::State& state, const char* where) {
  const RunFolder run(where);
  const Checkpoint checkpoint{"train_000001", checkpoint_files(std::size_t(state.range(0)) << 20)};
  write_checkpoint(run.path, checkpoint);
  compare(
      state, double(state.range(0)) * (1 << 20),
      [&] { benchmark::DoNotOptimize(newest_checkpoint(run.path, nullptr)); },
      [&] {
        for (const auto& [name, content] : checkpoint.files)
          benchmark::DoNotOptimize(read_file(run.path / "checkpoints" / checkpoint.name / name));
      });
}

constexpr const char* kMemory = "/dev/shm";
BENCHMARK_CAPTURE(publish_shard, disk, nullptr)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(publish_shard, memory, kMemory)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(publish_scores, disk, nullptr)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(publish_scores, memory, kMemory)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(publish_in_one, disk, nullptr)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(publish_in_one, memory, kMemory)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_back, memory, kMemory)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_steps, memory, kMemory)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_steps, disk, nullptr)
    ->Arg(20)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_whole_checkpoint, disk, nullptr)
    ->Arg(8)
    ->Arg(192)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(verify_checkpoint, memory, kMemory)
    ->Arg(8)
    ->Arg(192)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
