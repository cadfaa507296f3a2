// The walls: namespaces with a minimal root, Landlock where there are none, and what every confined
// program gives up before its first instruction.
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

/// A process in new user, pid, mount, network, IPC, UTS and cgroup namespaces, as fork() returns: 0
/// in the child; -1 and errno where the system forbids it.
pid_t fork_into_namespaces();

/// Writes the maps of user and group ids of `child`, which waits for them: an id of its own that
/// nobody has, where the caller may map one, else the caller's. `number` tells workers apart. False
/// and errno where neither can be mapped.
bool map_ids(pid_t child, unsigned number);

// What a worker does in its namespaces once the ids are mapped. All throw EnvironmentError, whose
// message goes to whoever asked for the worker.
void become_inside_user();
void enter_minimal_root();  ///< read-only /usr, /bin, /lib*, bits of /etc, four devices, an empty
                            ///< /proc, an empty /tmp; the rest is unmounted
void demand_limited_processes();  ///< the kernel does not count those of the machine's root,
                                  ///< whatever it calls itself
void keep_only_mount_rights();    ///< CAP_SYS_ADMIN of the own user namespace, kept over exec, for
                                  ///< the worker and the warm interpreter alone

/// The second tier's worker: everything but reading system folders and writing beneath `folder` is
/// denied from here on. Gives up root where it has it.
void restrict_by_landlock(const std::string& folder, unsigned number);
bool landlock_is_complete();  ///< the kernel's Landlock covers truncation (ABI 3, Linux 6.2)

/// What a run's own process asks of the kernel. The worker works it out: whatever a child allocates
/// makes it a copy of the page.
struct Restraints {
  std::string folder;                          ///< options of its tmpfs
  std::vector<std::pair<int, rlimit>> limits;  ///< by resource
};
Restraints restraints_of(const Limits& limits,
                         std::uint64_t own_size);  ///< `own_size`: address space that the program's
                                                   ///< own code has mapped already; 0 before exec

// What each run's own process does, in this order. They return 0 or errno: there is nobody to throw
// to.
int mount_private_folder(const Restraints& restraints);  ///< a fresh tmpfs on /tmp in the process's
                                                         ///< own mount namespace
int limit_resources(const Restraints& restraints);
int give_up_capabilities();
int install(const std::vector<sock_filter>& filter);  ///< no_new_privs first

std::uint64_t address_space();  ///< of this process, in bytes; reads /proc

std::string resource_options(const Limits& limits);  ///< the same limits as text for the warm
                                                     ///< interpreter: "NUMBER SOFT HARD" each

}  // namespace rollcall::sandbox
