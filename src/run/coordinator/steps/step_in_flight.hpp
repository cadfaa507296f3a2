// The current step: when it began and what the run had done by then, so that a step that is cut can
// be undone.
#pragma once

#include "run/checkpoint/coordinator_state.hpp"
#include "run/messages/step_times.hpp"
#include "run/workers/stop_request.hpp"
#include "watch/watcher.hpp"

#include <cstdint>

namespace rollcall::run {

/// At most one step is in flight. The request to stop learns from it how long steps take.
class StepInFlight {
 public:
  explicit StepInFlight(StopRequest& stop) : stop_(&stop) {}

  void begin(const CoordinatorState& state);
  /// Ends the step that is in flight, if there is one.
  void end();
  /// Whether a step has ended since this start of the run.
  bool has_ended() const { return has_ended_; }

  /// Seconds since the step began.
  double seconds() const { return before_.clock.seconds(); }
  /// What rank 0 knows now about the end of the step. It is sent with plans.
  StepTimes times() const { return stop_->times(seconds()); }
  /// Rows of metrics.jsonl when the step began.
  std::int64_t metric_rows() const { return before_.metric_rows; }
  /// Sets the counts of steps and rollouts back to those before the step.
  void take_back(CoordinatorState& state) const;

 private:
  /// Counts of the state, and the clock, when the step began.
  struct Before {
    std::int64_t sft_steps = 0, train_steps = 0;
    std::uint64_t rollouts_total = 0;
    std::int64_t metric_rows = 0;
    watch::WorkingTime clock{};
  };

  StopRequest* stop_;
  Before before_;
  bool is_open_ = false;
  bool has_ended_ = false;
};

}  // namespace rollcall::run
