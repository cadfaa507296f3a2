// Decides whether the step under way is cut short when a signal asks the run to stop. Nothing of a
// step that is cut is kept: no rank has anything to save, and a resume draws the step again.
#pragma once

#include "core/collectives.hpp"
#include "run/messages/step_times.hpp"
#include "run/workers/stop_request.hpp"

#include <atomic>

namespace rollcall::run {

/// Seconds that a step has from SIGTERM until it must have ended. Slurm kills 30 s after SIGTERM
/// unless the site sets another KillWait (slurm.conf(5)); 10 of them are left for the checkpoint.
inline constexpr double kFinishing_s = 20.0;

/// True where the step is expected to end too late, or has not ended in time. All times are seconds
/// of the clock of `came`. `expected_s` and `latest_s` are those of StepTimes, on that clock. After
/// SIGTERM the end of the allocation does not count: Slurm sends SIGTERM there, but also for a
/// preemption and for scancel.
bool is_cut(const SignalTimes& came, double expected_s, double latest_s, double now_s);

/// Thrown by all update ranks together, once they agree that the step is cut, and by rank 0 when it
/// learns of that.
struct StepIsCut {};

/// The decision of one rank. Once a cut is decided it holds until the next piece of work begins, so
/// that no part of the rank takes cut work for complete work.
class StepCut {
 public:
  void begin(const StepTimes& times);  ///< called when a plan arrives
  bool wanted();                       ///< may be called from any thread
  /// Throws StepIsCut on all ranks if one of them wants the cut. Collective.
  void agree(Collectives& ranks);

 private:
  double expected_s_ = StepTimes::kUnknown,
         latest_s_ = -StepTimes::kUnknown;  ///< seconds of the clock of SignalTimes
  std::atomic<bool> wanted_ = false;
};

}  // namespace rollcall::run
