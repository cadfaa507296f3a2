// The confinement of programs: namespaces with a minimal root, Landlock if there are no namespaces,
// and the rights that every program gives up before its first instruction.
#pragma once

#include "sandbox/sandbox.hpp"

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace rollcall::sandbox {

constexpr unsigned kInsideId = 1000;  ///< user and group of programs as they see themselves

/// Forks a process into new user, pid, mount, network, IPC, UTS and cgroup namespaces. Returns what
/// fork() does: 0 in the child; -1 with errno if the system forbids it.
pid_t fork_into_namespaces();

/// Writes the user and group id maps of `child`, which waits for them. Maps an otherwise unused id
/// if the caller is allowed to, else the caller's own id. `number` keeps the workers' ids apart.
/// Returns false with errno if neither can be mapped.
bool map_ids(pid_t child, unsigned number);

// The steps that a worker takes in its namespaces once the ids are mapped. All throw
// EnvironmentError, and its message is sent to the process that asked for the worker.
void become_inside_user();
/// Mounts read-only /usr, /bin and /lib*, parts of /etc, four devices, an empty /proc and an empty
/// /tmp, and unmounts the rest.
void enter_minimal_root();
/// Throws if the kernel does not limit the number of processes of this user (RLIMIT_NPROC). The
/// kernel does not limit the processes of the machine's root, no matter which id root has inside
/// the namespaces.
void demand_limited_processes();
/// Keeps CAP_SYS_ADMIN in the worker's own user namespace, even across exec, but only for the
/// worker and the warm interpreter.
void keep_only_mount_rights();

/// Confines a worker of the second tier: from now on it may only read system folders and write
/// below `folder`. Gives up root if the process has it.
void restrict_by_landlock(const std::string& folder, unsigned number);
/// whether the kernel's Landlock covers truncation (ABI 3, Linux 6.2)
bool landlock_is_complete();

/// The requests that a run's process makes to the kernel. The worker computes it, because every
/// allocation in a forked child copies a page.
struct Restraints {
  std::string folder;                          ///< mount options of the tmpfs on /tmp
  std::vector<std::pair<int, rlimit>> limits;  ///< by resource (RLIMIT_...)
};
Restraints restraints_of(const Limits& limits,
                         /// `own_size` is the address space, in bytes, that the program's own code
                         /// has already mapped; 0 before exec.
                         std::uint64_t own_size);

// The steps that the process of each run takes, in this order. The functions return 0 or an errno,
// because nothing in that process could catch an exception.
/// mounts a new tmpfs on /tmp, in the process's own mount namespace
int mount_private_folder(const Restraints& restraints);
int limit_resources(const Restraints& restraints);
int give_up_capabilities();
int install(const std::vector<sock_filter>& filter);  ///< sets no_new_privs first

std::uint64_t address_space();  ///< bytes of address space that this process has mapped; reads
                                ///< /proc

/// The resource limits as text for the warm interpreter, "NUMBER SOFT HARD" for each.
std::string resource_options(const Limits& limits);

}  // namespace rollcall::sandbox
