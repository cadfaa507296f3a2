// Metrics of a step under the field's names, and where they go: metrics.jsonl and a TensorBoard
// event file. Appends survive a resume exactly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::report {

/// One step's numbers. NaN is written as null.
struct MetricRow {
  std::string phase;  ///< sft | train | validation | eval
  std::uint64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

/// Writes run_dir/metrics.jsonl and run_dir/tensorboard/<phase>/events.out.tfevents.* (one
/// TensorBoard run a phase: phases count their steps apart). Rows behind a resume point are dropped
/// first, so a resumed run's file equals an undisturbed one but for times; so do its event files,
/// and a TensorBoard that has read more is told to hide it.
class MetricsSink {
 public:
  /// `resume_rows`: how many rows of metrics.jsonl to keep (from the checkpoint); -1 keeps none and
  /// starts new files. Throws StorageError when there are fewer.
  MetricsSink(const std::filesystem::path& run_dir, std::int64_t resume_rows);
  ~MetricsSink();
  /// Durable when it returns. Metric names are distinct and none is `phase` or `step`. Throws
  /// StorageError.
  void write(const MetricRow& row);
  std::int64_t rows() const;  ///< rows in the file: what a checkpoint stores for resume_rows

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// tolerates a torn last line; throws InputError when there is no file
std::vector<MetricRow> read_metrics(const std::filesystem::path& run_dir);

}  // namespace rollcall::report
