// A worker: a process behind the walls that starts one program after the other, feeds it, reads it
// and ends it.
#pragma once

#include "sandbox/confinement.hpp"
#include "sandbox/usage.hpp"

#include <linux/filter.h>

#include <vector>

namespace rollcall::sandbox {

struct WorkerSetup {
  Tier tier = Tier::namespaces;
  unsigned number = 0;                ///< tells its user id and folder from others'
  int own_pid_namespace = -1;         ///< descriptor; -1 in the second tier
  std::vector<sock_filter> filter{};  ///< of system calls, for the programs
  std::uint64_t own_size = 0;   ///< bytes of address space of a worker, which functions of this
                                ///< program begin with
  std::string folder = "/tmp";  ///< where programs work
  int memory_events = -1;       ///< /proc/vmstat, open from before the walls; -1: there is none
  Outside outside{};
};

/// How many processes the kernel has ended for want of memory, its own or a control group's, since
/// it started (vm(5): oom_kill); 0 where it does not say.
std::uint64_t ended_for_memory(int memory_events);

/// Serves requests from `socket` until the other side is gone; then every process it ever started
/// is gone too. Never returns.
[[noreturn]] void work(int socket, WorkerSetup setup);

}  // namespace rollcall::sandbox
