// Writes rows, diagnoses, status and progress as the steps bring them.
#include "run/coordinator/run_records.hpp"

#include "base/errors/log.hpp"

#include <utility>

namespace rollcall::run {
namespace {

constexpr double kStatusInterval_s = 1.0;  // status.json is for people: once a second is often
                                           // enough

}  // namespace

RunRecords::RunRecords(const RunContext& context, CoordinatorState& state)
    : context_(&context),
      state_(&state),
      metrics_(std::in_place, context.run_dir, state.metric_rows > 0 ? state.metric_rows : -1) {}

void RunRecords::read_earlier() {
  if (state_->metric_rows == 0) return;
  for (const auto& row : report::read_metrics(context_->run_dir)) recent_.add(row);
  diagnoses_ = report::diagnose(recent_, context_->config);
}

void RunRecords::write(const report::MetricRow& row) {
  metrics_->write(row);
  state_->metric_rows = metrics_->rows();
}

void RunRecords::keep_rows(std::int64_t rows) {
  if (metrics_->rows() > rows) metrics_.emplace(context_->run_dir, rows);
  state_->metric_rows = rows;
}

void RunRecords::diagnose(const report::MetricRow& row) {
  recent_.add(row);
  diagnoses_ = report::diagnose(recent_, context_->config);
  for (const auto& diagnosis : diagnosis_log_.due(row.step, diagnoses_))
    log_warning("step {}: {}", row.step, diagnosis.text());
}

void RunRecords::write_status(const std::string& phase, bool at_once) {
  if (!at_once && since_status_.seconds() < kStatusInterval_s) return;
  since_status_.restart();
  write_status_file(*context_, *state_, diagnoses_, tally_, phase);
}

void RunRecords::begin_bar(const std::string& label, std::int64_t first, std::int64_t total,
                           report::Progress::Output output) {
  bar_.emplace(label, first, total, std::move(output));
}

void RunRecords::move_bar(std::int64_t done, const report::NamedNumbers& numbers) {
  bar_->update(done, numbers);
}

}  // namespace rollcall::run
