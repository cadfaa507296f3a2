// Signals that ask a process to stop: SIGINT, SIGTERM, SIGUSR1 and SIGHUP. They either end the
// process at once, with a line about the files that remain, or set a flag that the program reads.
#pragma once

#include "base/errors/error.hpp"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall {

/// The signals that end the process. A batch system sends a notice (SIGUSR1, SIGHUP) while there is
/// time left, so work that takes only seconds should be finished. A last call (SIGTERM, SIGINT) is
/// followed by SIGKILL.
enum class Ends : std::uint8_t { on_any, on_last_call };

/// From now on the signals that `which` names end the process at once, with exit code 75
/// (ExitCode::requeue) and the line "rollcall: stopped by SIGTERM: `left`". Only the first of a
/// launcher's ranks prints the line. The other signals are noted, as with note_stop_signals().
/// Under nohup SIGHUP stays ignored. An inherited mask of these signals is undone.
void end_on_stop_signals(std::string_view left, Ends which = Ends::on_any);

/// Once this file exists, a signal that ends the process prints no line: another process of the job
/// has failed and printed the reason, and the launcher is ending the rest.
void stay_silent_beside(const std::filesystem::path& file);

/// Called when the process has failed with `code` and prints why. Signals add no second reason from
/// then on: a launcher sends SIGTERM to all ranks as soon as one of them has exited. After
/// end_on_stop_signals() a signal still ends the process at once, but with `code`. After
/// note_stop_signals() a first signal is noted, so the process ends by itself, and a second
/// one ends it as note_stop_signals() says.
void end_as_failed(ExitCode code);

/// From now on the signals set a flag. A second SIGINT ends the process, and so does a second
/// SIGTERM outside of a Slurm job; Slurm itself sends several.
void note_stop_signals();

/// The last signal that was noted, if any.
std::optional<std::string> stop_signal();

/// The time of the first signal of each kind, in seconds of signal_clock_s(); infinity if there was
/// none.
struct SignalTimes {
  double notice_s = std::numeric_limits<double>::infinity();     ///< of SIGUSR1 or SIGHUP
  double last_call_s = std::numeric_limits<double>::infinity();  ///< of SIGTERM or SIGINT
};
SignalTimes signal_times();
double signal_clock_s();  ///< seconds of a monotonic clock

}  // namespace rollcall
