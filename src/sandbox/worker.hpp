// A worker: a confined process that runs programs in sequence. It starts each one, feeds it, reads
// its output and ends it.
#pragma once

#include "sandbox/confinement.hpp"
#include "sandbox/usage.hpp"

#include <linux/filter.h>

#include <vector>

namespace rollcall::sandbox {

struct WorkerSetup {
  Tier tier = Tier::namespaces;
  unsigned number = 0;         ///< keeps its user id and folder apart from those of other workers
  int own_pid_namespace = -1;  ///< descriptor of the worker's pid namespace; -1 in the second tier
  std::vector<sock_filter> filter{};  ///< system calls that programs may not make
  /// Bytes of address space that the worker has mapped. A Function runs in a fork of the worker and
  /// begins with them.
  std::uint64_t own_size = 0;
  std::string folder = "/tmp";  ///< working folder of programs
  int memory_events = -1;  ///< /proc/vmstat, opened before the confinement; -1 if there is none
  Outside outside{};
};

/// The number of processes that the kernel has killed since the machine started because the machine
/// or a control group was short of memory (oom_kill of /proc/vmstat); 0 if that is not known.
std::uint64_t ended_for_memory(int memory_events);

/// Serves requests from `socket` until the other side is gone; by then every process that it
/// started is gone too. Never returns.
[[noreturn]] void work(int socket, WorkerSetup setup);

}  // namespace rollcall::sandbox
