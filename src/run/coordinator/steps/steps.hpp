// One step of a run from its plan to its row of metrics: a supervised step of the warm start, or a
// train step of rollouts, rewards and an update.
#pragma once

#include "core/rollout.hpp"
#include "report/metrics.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/checkpoints.hpp"
#include "run/coordinator/run_archive.hpp"
#include "run/coordinator/run_records.hpp"
#include "run/coordinator/steps/rounds.hpp"
#include "run/coordinator/steps/step_rounds.hpp"
#include "run/coordinator/steps/training_course.hpp"
#include "run/coordinator/steps/updates.hpp"
#include "run/update/example_passes.hpp"
#include "scheduling/scheduler.hpp"

#include <vector>

namespace rollcall::run {

struct RunContext;

class Steps {
 public:
  /// The parts of rank 0 that a step needs. They outlive the steps.
  struct Parts {
    CoordinatorState& state;
    scheduling::Scheduler& scheduler;
    RunRecords& records;
    Checkpoints& checkpoints;
    RunArchive& archive;
    Rounds& rounds;
  };
  Steps(const RunContext& context, const Parts& parts, Updates updates);

  /// Runs the next supervised step. Throws StepIsCut, and NumericsError like Updates::check.
  void supervise();
  /// The next train step; returns its row of metrics. Throws what supervise() throws.
  report::MetricRow train();
  /// Starts the transfer of the weights that the warm start has made.
  void send_weights() { updates_.send_weights(); }

  TrainingCourse& course() { return course_; }
  const TrainingCourse& course() const { return course_; }

 private:
  scheduling::StepRequest next_request() const;
  void make_next(std::uint64_t step, const std::vector<DerivedPrompt>& asked, Round& round);
  UpdateReport update(const scheduling::StepRequest& request, Round& round);
  void add_choice(report::MetricRow& row, const Round& round,
                  const std::vector<DerivedPrompt>& asked) const;
  void add_times(report::MetricRow& row, const Round& round, const UpdateReport& report,
                 double took_s, double weights_s);

  const RunContext* context_;
  CoordinatorState* state_;
  scheduling::Scheduler* scheduler_;
  RunRecords* records_;
  Checkpoints* checkpoints_;
  RunArchive* archive_;
  Updates updates_;
  StepRounds rounds_;
  ExamplePasses passes_;  ///< the order of the warm start's examples
  TrainingCourse course_;
};

}  // namespace rollcall::run
