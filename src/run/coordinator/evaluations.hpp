// Evaluations and validations, which are rounds over the generation ranks without an update.
// Decides which evaluations of earlier starts can still be compared with those of this one.
#pragma once

#include "report/evaluation.hpp"
#include "report/metrics.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/run_archive.hpp"
#include "run/coordinator/run_records.hpp"
#include "run/coordinator/steps/rounds.hpp"
#include "run/workers/stop_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// The evaluations themselves are in the state: `before` and `after` training.
class Evaluations {
 public:
  Evaluations(const RunContext& context, CoordinatorState& state, Rounds& rounds,
              RunArchive& archive, RunRecords& records, StopRequest& stop);

  /// At a start: warns of evaluations of earlier starts that cannot be compared with new ones, and
  /// drops the one before training where it cannot be made again. `progress`: share of the training
  /// that is done.
  void look_at_earlier(double progress);
  /// Where training continues after an end of the warm start, the evaluation after that end becomes
  /// the one before training. The evaluation after a different end is dropped with the first new
  /// step, so that a start that stops before that step loses nothing.
  void begin_training();
  /// Whether the evaluation exists and can be compared with a new one.
  bool has_before() const { return is_current(state_->before, state_->before_prompts); }
  bool has_after() const { return is_current(state_->after, state_->after_prompts); }
  /// Drops evaluations that cannot be compared.
  void drop_old();

  /// Evaluates the current weights on the held-out prompts. The result replaces an older
  /// evaluation, also in the archive. Returns false if the run was asked to stop. Nothing has
  /// changed then.
  bool measure_before() { return measure(state_->before, state_->before_prompts); }
  bool measure_after() { return measure(state_->after, state_->after_prompts); }
  /// The evaluation of a job that does nothing else. Returns nothing when the run was asked to
  /// stop.
  std::optional<report::Evaluation> measure_only();
  /// Evaluates on the validation prompts; returns the row that was written to the metrics. Throws
  /// StepIsCut when the run was asked to stop.
  report::MetricRow validate();

 private:
  using Outcomes = std::vector<report::PromptOutcome>;  ///< [prompts]
  bool is_current(const std::optional<Outcomes>& evaluation, const std::string& prompts) const;
  bool measure(std::optional<Outcomes>& slot, std::string& prompts);
  std::optional<Outcomes> evaluate(Purpose purpose, std::int64_t samples);

  const RunContext* context_;
  CoordinatorState* state_;
  Rounds* rounds_;
  RunArchive* archive_;
  RunRecords* records_;
  StopRequest* stop_;
  std::string heldout_;  ///< digest of the held-out prompts
};

}  // namespace rollcall::run
