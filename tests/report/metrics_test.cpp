// metrics.jsonl: exact numbers, torn lines, resumption; and that TensorBoard files are restarted
// beside it.
#include "report/metrics.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/random.hpp"
#include "report/run_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>

namespace rollcall::report {
namespace {

namespace fs = std::filesystem;

MetricRow row(const std::string& phase, std::uint64_t step, double value) {
  return {phase, step, {{"critic/rewards/mean", value}, {"actor/entropy", 0.1 * value}}};
}
std::string text_of(const RunFolder& run) { return read_file(run.path() / "metrics.jsonl"); }
std::size_t event_files(const RunFolder& run, const std::string& phase) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(run.path() / "tensorboard" / phase))
    count += entry.is_regular_file();
  return count;
}

/// Steps of all scalars that lie in the event files of a phase, in any order; below 128, so that
/// each is one byte of its record.
std::vector<std::uint64_t> board_steps(const RunFolder& run, const std::string& phase) {
  std::vector<std::uint64_t> steps;
  for (const auto& entry : fs::directory_iterator(run.path() / "tensorboard" / phase)) {
    const std::string bytes = read_file(entry.path());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t length = std::uint8_t(bytes[at]) + 256U * std::uint8_t(bytes[at + 1]),
                        payload = at + 12;
      if (bytes[payload + 11] == '\x2a') steps.push_back(std::uint8_t(bytes[payload + 10]));
      at = payload + length + 4;
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

TEST(Metrics, EveryFiniteDoubleReadsBackExactlyAndTheRestAsNaN) {
  const RunFolder run;
  const RandomStream bits(1, RandomPurpose::test);
  MetricRow written{
      "train",
      3,
      {{"infinite", INFINITY}, {"none", std::nan("")}, {"zero", -0.0}, {"least", 5e-324}}};
  for (std::uint64_t i = 0; i < 5000; ++i)
    written.values.emplace_back(fmt::format("x{}", i), std::bit_cast<double>(bits.bits(i)));
  MetricsSink(run.path(), -1).write(written);
  const auto read = read_metrics(run.path()).at(0).values;
  ASSERT_EQ(read.size(), written.values.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    const double there = written.values[i].second, back = read[i].second;
    EXPECT_TRUE(std::isfinite(there)
                    ? std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(there)
                    : std::isnan(back))
        << there;
  }
}

TEST(Metrics, RowsAreFlatObjectsInTheOrderMeasured) {
  const RunFolder run;
  MetricsSink(run.path(), -1).write({"train", 7, {{"z", 1.5}, {"a", std::nan("")}}});
  EXPECT_EQ(text_of(run), "{\"phase\":\"train\",\"step\":7,\"z\":1.5,\"a\":null}\n");
  MetricsSink sink(run.path(), 1);
  EXPECT_THROW(sink.write({"train", 8, {{"step", 1.0}}}), std::logic_error);
  EXPECT_THROW(sink.write({"../train", 8, {}}), std::logic_error);
}

TEST(Metrics, AResumedFileEqualsAnUndisturbedOne) {
  for (const std::int64_t kept : {0, 2, 3, 5, 9}) {
    const RunFolder undisturbed, resumed;
    const auto write = [](MetricsSink& sink, int from, int to) {
      for (int i = from; i < to; ++i)
        sink.write(i < 3 ? row("sft", std::uint64_t(i), i / 3.0)
                         : row("train", std::uint64_t(i - 3), i / 7.0));
    };
    MetricsSink whole(undisturbed.path(), -1);
    write(whole, 0, 12);
    {
      MetricsSink first(resumed.path(), -1);
      write(first, 0, 9);
    }
    // killed while it wrote
    std::ofstream(resumed.path() / "metrics.jsonl", std::ios::app) << "{\"phase\":\"train\",\"st";
    MetricsSink second(resumed.path(), kept);
    EXPECT_EQ(second.rows(), kept);
    write(second, int(kept), 12);
    EXPECT_EQ(second.rows(), 12);
    EXPECT_EQ(text_of(resumed), text_of(undisturbed));
    EXPECT_EQ(event_files(resumed, "train"), 2U);
    for (const char* phase : {"sft", "train"})
      EXPECT_EQ(board_steps(resumed, phase), board_steps(undisturbed, phase))
          << phase << ", kept " << kept;
    EXPECT_EQ(board_steps(resumed, "train"),
              (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  }
}

TEST(Metrics, NewRunsLeaveNothingOfTheOldOne) {
  const RunFolder run;
  MetricsSink(run.path(), -1).write(row("train", 0, 1.0));
  MetricsSink(run.path(), -1).write(row("train", 0, 2.0));
  EXPECT_EQ(read_metrics(run.path()).size(), 1U);
  EXPECT_EQ(event_files(run, "train"), 1U);
}

TEST(Metrics, ATornLastLineIsSkippedAndABrokenOneIsNot) {
  const RunFolder run;
  EXPECT_THROW(read_metrics(run.path()), InputError);
  MetricsSink(run.path(), -1).write(row("train", 0, 1.0));
  std::ofstream(run.path() / "metrics.jsonl", std::ios::app) << "{\"phase\":";
  EXPECT_EQ(read_metrics(run.path()).size(), 1U);
  std::ofstream(run.path() / "metrics.jsonl", std::ios::app) << "\n";
  try {
    read_metrics(run.path());
    FAIL() << "a broken row was accepted";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("metrics.jsonl:2"), std::string::npos) << e.what();
  }
}

TEST(Metrics, FewerRowsThanTheCheckpointCountsIsAnError) {
  const RunFolder run;
  MetricsSink(run.path(), -1).write(row("train", 0, 1.0));
  EXPECT_THROW(MetricsSink(run.path(), 2), StorageError);
}

}  // namespace
}  // namespace rollcall::report
