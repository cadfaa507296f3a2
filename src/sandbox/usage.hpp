// What the kernel says of a run while it goes on: processor time, waiting for a processor, and
// memory, of all its processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::sandbox {

/// Where a worker looks: opened before its walls, which hide both. No program inherits them.
struct Outside {
  int processes = -1;  ///< /proc of the system
  std::string worker;  ///< the worker's number in it
  int pressure = -1;   ///< /proc/pressure/cpu (Linux's PSI); -1: this kernel has none
};
Outside look_outside();

/// Of a process and all its descendants.
struct Usage {
  double cpu_s = 0.0;     ///< processor time of those that live
  double waited_s = 0.0;  ///< the longest that a thread was ready to run and had no processor (the
                          ///< second number of /proc/PID/schedstat)
  std::uint64_t memory = 0;  ///< bytes resident, without those of files; what processes share
                             ///< counts for each
  int processes = 0;
};

/// `pid` as the worker knows it. Nothing where /proc cannot be read from here, as behind Landlock.
std::optional<Usage> usage_of(const Outside& outside, pid_t pid);

/// Percent of the last ten seconds in which something on this machine was ready to run and had no
/// processor (avg10 of `some`).
std::optional<double> pressure_of(const Outside& outside);

/// What is known when a wall clock ends a run.
struct Waiting {
  std::optional<Usage> usage;  ///< of the program
  double waited_s = 0.0;  ///< for a processor: the longest of the program and of the worker that
                          ///< attends it
  std::optional<double> pressure;  ///< asked for where there is no usage
};

/// Whether the machine kept the run from ending, and which file says so. It did not where the
/// program has had all the processor time that it may use. Else it did where half of the wall clock
/// was spent waiting for a processor; where /proc does not tell, if the machine was short of
/// processors for half of the last ten seconds.
struct Shortage {
  bool starved = false;
  const char* source = "";
};
Shortage shortage_of(const Waiting& waiting, double cpu_s, double cpu_limit_s, double wall_s);

}  // namespace rollcall::sandbox
