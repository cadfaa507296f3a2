// Whether the step under way is cut when a signal asks for a stop. Nothing of a step that is cut is
// kept, so no rank has anything to save, and a resume draws the step again.
#pragma once

#include "core/collectives.hpp"
#include "run/messages/step_times.hpp"
#include "run/workers/stop_request.hpp"

#include <atomic>

namespace rollcall::run {

/// What a step has from a signal on, whatever else is known. Slurm kills 30 s after SIGTERM unless
/// the site sets another KillWait (slurm.conf(5)); 10 of them are left to the checkpoint.
inline constexpr double kFinishing_s = 20.0;

/// True where the step is expected to end too late, or has not ended in time. `expected_s`,
/// `latest_s`
/// (as in StepTimes) and `now_s` are by the clock of `came`. After SIGTERM the end of the
/// allocation
/// says nothing: Slurm sends it there, but also for a preemption and for scancel.
bool is_cut(const SignalTimes& came, double expected_s, double latest_s, double now_s);

/// Thrown by all update ranks alike, once they agree, and by rank 0 when it hears of it.
struct StepIsCut {};

/// The decision of one rank. Once it is made it holds until the next piece of work begins, so
/// nobody
/// takes what was cut for whole.
class StepCut {
 public:
  void begin(const StepTimes& times);  ///< with a plan
  bool wanted();                       ///< from any thread
  /// Throws StepIsCut on all ranks where any of them wants it. Collective.
  void agree(Collectives& ranks);

 private:
  double expected_s_ = StepTimes::kUnknown,
         latest_s_ = -StepTimes::kUnknown;  ///< by the clock of SignalTimes
  std::atomic<bool> wanted_ = false;
};

}  // namespace rollcall::run
