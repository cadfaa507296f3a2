// Reasons to stop a run: a signal, the stop file, or the end of the allocation. Rank 0 looks for
// them between two steps. A signal is also looked for within a step (step_cut.hpp).
#pragma once

#include "base/process/stop_signals.hpp"
#include "run/messages/step_times.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::run {

/// The EndTime in the output of `scontrol show job` with SLURM_TIME_FORMAT=%s, in Unix time;
/// nothing where the output has none.
std::optional<double> end_time_of(std::string_view context);

/// Knows when the run must have ended, and how long a step and a checkpoint take.
class StopRequest {
 public:
  /// `wall_time_s`: seconds from now to the end; 0: the end is that of SLURM_JOB_END_TIME if it is
  /// set.
  StopRequest(std::filesystem::path run_dir, double wall_time_s);
  /// Takes note of a signal that has reached another rank.
  void remember_signal(const std::string& text) { signal_ = text; }
  void step_took(double seconds);
  /// Says that steps are of a different kind from now on, so that their duration is not known yet.
  void begin_phase() { longest_of_phase_s_ = 0.0; }
  void checkpoint_took(double seconds);
  /// Seconds to the end of the allocation; nothing: no end is known.
  std::optional<double> left_s();
  /// Seconds before that end at which the run stops, learned from its steps and checkpoints.
  double margin_s() const;
  /// What is known of the end of a step that began `since_s` seconds ago.
  StepTimes times(double since_s);
  /// Whether a checkpoint is due because a kill would lose the work of the last `since_s` seconds:
  /// ten minutes, or more where writing a checkpoint takes over a twentieth of that time.
  bool is_checkpoint_due(double since_s) const;
  /// Why the run should stop now, for the log; nothing: it should continue. At the end of an
  /// allocation, time is left for one more step, `more_s` seconds of other work, and two
  /// checkpoints. A reason that was given once does not change.
  std::optional<std::string> reason(double more_s = 0.0);
  /// Why work was cut: the reason to stop, or a signal on another rank if this rank knows of none.
  /// That is then the reason to stop.
  std::string reason_of_cut();
  /// Whether the reason is the end of the allocation.
  bool is_out_of_time() const { return out_of_time_; }

 private:
  void ask_slurm();  ///< asks for the end of the allocation, which Slurm moves after a suspension

  std::filesystem::path run_dir_;
  std::optional<double> end_s_;  ///< Unix time at which the run must have ended; nothing: unknown
  bool slurms_ = false;          ///< the end comes from Slurm, which may move it
  double stood_still_s_ = 0.0;   ///< time that the process had stood still when Slurm was asked
  std::string signal_;
  std::optional<std::string> given_;
  bool out_of_time_ = false;
  double longest_step_s_ = 0.0, longest_of_phase_s_ = 0.0, longest_checkpoint_s_ = 0.0;
};

}  // namespace rollcall::run
