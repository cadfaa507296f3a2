// Wishes to stop: a signal, the stop file, the end of the allocation. Looked at between two steps;
// a
// signal is also looked at within one (step_cut.hpp).
#pragma once

#include "base/stop_signals.hpp"
#include "run/messages/step_times.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::run {

/// EndTime of what `scontrol show job` prints with SLURM_TIME_FORMAT=%s, as Unix time; nothing
/// where it says none.
std::optional<double> end_time_of(std::string_view context);

/// Knows when the run must have ended and how long a step and a checkpoint take.
class StopRequest {
 public:
  /// `wall_time_s` 0: the end comes from SLURM_JOB_END_TIME when that is set.
  StopRequest(std::filesystem::path run_dir, double wall_time_s);
  void remember_signal(const std::string& text) { signal_ = text; }  ///< from another rank
  void step_took(double seconds);
  void begin_phase() {
    longest_of_phase_s_ = 0.0;
  }  ///< its steps are of another kind than those
     ///< before
  void checkpoint_took(double seconds);
  std::optional<double> left_s();  ///< to the end of the allocation
  double margin_s() const;         ///< before it at which the run stops: learned from its steps and
                                   ///< checkpoints
  /// Of a step that began so many seconds ago.
  StepTimes times(double since_s);
  /// Whether a kill would lose so much work, begun so many seconds ago, that a checkpoint is due:
  /// ten minutes, or more where writing one takes over a twentieth of it.
  bool is_checkpoint_due(double since_s) const;
  /// Why the run should stop now, for the log; empty to go on. Leaves room for one more step and
  /// two checkpoints before the end.
  /// Once given it stays. `more_s`: what has to fit beside a step.
  std::optional<std::string> reason(double more_s = 0.0);
  /// Why work was cut: the same reason, or where there is none here, a signal on another rank, which
  /// then is the reason.
  std::string reason_of_cut();
  bool is_out_of_time() const {
    return out_of_time_;
  }  ///< the reason given is the end of the
     ///< allocation

 private:
  void ask_slurm();  ///< after a suspension, for which Slurm moves the end of the allocation

  std::filesystem::path run_dir_;
  std::optional<double> end_s_;  ///< Unix time
  bool slurms_ = false;          ///< the end is Slurm's
  double stood_still_s_ = 0.0;   ///< when Slurm was asked last
  std::string signal_;
  std::optional<std::string> given_;
  bool out_of_time_ = false;
  double longest_step_s_ = 0.0, longest_of_phase_s_ = 0.0, longest_checkpoint_s_ = 0.0;
};

}  // namespace rollcall::run
