// The kernel's reports about all processes of a run while it lasts: processor time, time spent
// waiting for a processor, and memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::sandbox {

/// Files that a worker reads. It opens them before its confinement hides them; programs do not
/// inherit them.
struct Outside {
  int processes = -1;  ///< descriptor of the system's /proc
  std::string worker;  ///< the worker's process id there
  int pressure = -1;   ///< descriptor of /proc/pressure/cpu (Linux's PSI); -1: this kernel has none
};
Outside look_outside();

/// Sums over a process and all its descendants.
struct Usage {
  double cpu_s = 0.0;  ///< processor time of the living processes
  /// The longest time that any one thread was ready to run but had no processor (the second number
  /// of /proc/PID/schedstat).
  double waited_s = 0.0;
  /// Resident bytes, not counting files. Memory that processes share is counted for each.
  std::uint64_t memory = 0;
  int processes = 0;
};

/// `pid` is the number that the worker sees. Returns nothing if /proc cannot be read, as under
/// Landlock.
std::optional<Usage> usage_of(const Outside& outside, pid_t pid);

/// Percentage of the last ten seconds during which some task on this machine was ready to run but
/// had no processor (avg10 of `some`).
std::optional<double> pressure_of(const Outside& outside);

/// The facts known when the wall-clock limit ended a run.
struct Waiting {
  std::optional<Usage> usage;  ///< of the program, if /proc shows it
  double waited_s = 0.0;       ///< longest wait for a processor by any thread of the program or its
                               ///< worker
  std::optional<double> pressure;  ///< as returned by pressure_of(); read only if there is no usage
};

/// Whether a lack of processors kept the run from ending, and which file says so. It did not if the
/// program has had all the processor time that it may use. Otherwise it did if the program or its
/// worker waited for a processor for half of the wall-clock limit. If the worker did not and /proc
/// does not show the program, the machine must have been short of processors for half of the last
/// ten seconds; and if that is not known either, the program must have used a tenth of the
/// wall-clock limit as processor time.
struct Shortage {
  bool starved = false;
  const char* source = "";
};
Shortage shortage_of(const Waiting& waiting, double cpu_s, double cpu_limit_s, double wall_s);

}  // namespace rollcall::sandbox
