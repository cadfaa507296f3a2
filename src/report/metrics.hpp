// A step's metrics under the names common in the field, written to metrics.jsonl and TensorBoard
// event files. A resumed run's files equal those of an uninterrupted run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::report {

/// The numbers of one step. NaN is written as null.
struct MetricRow {
  std::string phase;  ///< sft | train | validation | eval
  std::uint64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

/// Writes run_dir/metrics.jsonl and run_dir/tensorboard/<phase>/events.out.tfevents.*. Each phase
/// is a separate TensorBoard run, because phases count their steps separately. Rows after the point
/// of a resume are dropped first, so a resumed run's file equals that of an uninterrupted run
/// except for times. The same holds for event files, and a TensorBoard that has already read more
/// is made to hide it.
class MetricsSink {
 public:
  /// `resume_rows`, which comes from the checkpoint, is the number of rows in metrics.jsonl to
  /// keep; -1 keeps none and starts new files. Throws StorageError if there are fewer rows.
  MetricsSink(const std::filesystem::path& run_dir, std::int64_t resume_rows);
  ~MetricsSink();
  /// The row is on disk when this returns. Metric names must be distinct, and none may be `phase`
  /// or `step`. Throws StorageError.
  void write(const MetricRow& row);
  std::int64_t rows() const;  ///< rows in the file, which a checkpoint stores for resume_rows

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// Ignores an incomplete last line. Throws InputError if there is no file.
std::vector<MetricRow> read_metrics(const std::filesystem::path& run_dir);

}  // namespace rollcall::report
