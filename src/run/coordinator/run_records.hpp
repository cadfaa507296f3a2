// Writes the files and messages of rank 0 that people read during a run: metrics.jsonl,
// status.json, the progress bar, and the diagnoses of the last steps.
#pragma once

#include "base/time/clock.hpp"
#include "report/diagnoses.hpp"
#include "report/metrics.hpp"
#include "report/progress.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/results.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

class RunRecords {
 public:
  /// Opens metrics.jsonl with the rows that the state counts. Throws StorageError when the file has
  /// fewer.
  RunRecords(const RunContext& context, CoordinatorState& state);

  /// Diagnoses the steps of earlier starts, which the log has already.
  void read_earlier();
  /// Appends the row to metrics.jsonl, where it is durable, and counts it in the state.
  void write(const report::MetricRow& row);
  /// Drops the rows after the first `rows`, because a step that is cut leaves no row.
  void keep_rows(std::int64_t rows);
  /// Adds a train step to the diagnoses, and logs those that are due. Warns once about the first
  /// step that teaches nothing, because the diagnoses wait for several steps.
  void diagnose(const report::MetricRow& row);
  /// Replaces status.json. Without `at_once` it does so at most once a second.
  void write_status(const std::string& phase, bool at_once);

  /// Counts the verdicts of a shard. They are those of this start.
  void add(const VerdictFacts& verdicts) { run::add(tally_, verdicts); }
  const VerdictTally& verdicts() const { return tally_; }

  /// Begins the bar of a phase in place of any other bar.
  void begin_bar(const std::string& label, std::int64_t first, std::int64_t total,
                 report::Progress::Output output = {});
  /// Moves the current bar.
  void move_bar(std::int64_t done, const report::NamedNumbers& numbers);
  /// Ends the bar, if there is one, so that the next output starts on a new line.
  void end_bar() { bar_.reset(); }
  bool has_bar() const { return bar_.has_value(); }

 private:
  const RunContext* context_;
  CoordinatorState* state_;
  std::optional<report::MetricsSink> metrics_;
  std::optional<report::Progress> bar_;
  Stopwatch since_status_;
  report::RecentSteps recent_;
  report::DiagnosisLog diagnosis_log_;
  std::vector<report::Diagnosis> diagnoses_;  ///< those that hold after the step done last
  bool told_idle_ = false;                    ///< the log has warned of a step that teaches nothing
  VerdictTally tally_;
};

}  // namespace rollcall::run
