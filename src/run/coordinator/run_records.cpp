// Writes rows, diagnoses, status and progress as the steps finish.
#include "run/coordinator/run_records.hpp"

#include "base/errors/log.hpp"
#include "run/context/run_context.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace rollcall::run {
namespace {

constexpr double kStatusInterval_s = 1.0;  // status.json is for people: once a second is often
                                           // enough

std::optional<double> value_of(const report::MetricRow& row, std::string_view name) {
  for (const auto& [own, value] : row.values)
    if (own == name) return value;
  return std::nullopt;
}

/// Whether the rewards of each group are equal, and nothing else moves the weights.
bool is_idle(const report::MetricRow& row) {
  return value_of(row, "train/frac_reward_zero_std") == 1.0 &&
         value_of(row, "actor/grad_norm").value_or(0.0) == 0.0;
}

}  // namespace

RunRecords::RunRecords(const RunContext& context, CoordinatorState& state)
    : context_(&context),
      state_(&state),
      metrics_(std::in_place, context.run_dir, state.metric_rows > 0 ? state.metric_rows : -1) {}

void RunRecords::read_earlier() {
  if (state_->metric_rows == 0) return;
  for (const auto& row : report::read_metrics(context_->run_dir)) {
    recent_.add(row);
    told_idle_ = told_idle_ || is_idle(row);
  }
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
  if (is_idle(row) && !std::exchange(told_idle_, true))
    log_warning(
        "step {} teaches nothing: the rollouts of each prompt have equal rewards ({:.3g} on average), so the weights stay as they are; rollcall view {} shows "
        "answers and verdicts, and easier prompts, a warm start or more rollouts a prompt help",
        row.step, value_of(row, "critic/score/mean").value_or(0.0), context_->config.run.dir);
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
