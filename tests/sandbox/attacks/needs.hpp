// What attacks need of the machine they run on. Each need is looked up in a way of its own, never
// by the attack: one that is broken must not excuse itself.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rollcall::sandbox::attacks {

/// Where it is absent, an attack that needs it shows nothing, and is reported under this name.
struct Need {
  std::string name;
  std::function<bool()> present;  ///< asked once, in a process of its own: it may do with itself
                                  ///< what it likes
};

/// The name of the first that is absent; empty: all are there.
std::string absent(const std::vector<Need>& needs);

// Rights. Capabilities by their names in linux/capability.h.
Need capability(int number);          ///< effective in this user namespace, whichever it is
Need machine_capability(int number);  ///< and this is the machine's first one, not that of a
                                      ///< container
Need proc();                          ///< /proc is there, with this process in it
Need root();
Need own_id();                ///< this user's and group's own ids are mapped here
Need second_id();             ///< user and group 1 as well
Need setting_groups();        ///< CAP_SETGID, and nobody has forbidden it for this user namespace
Need owns(const char* path);  ///< it may be written, by its mode or by right, on a file system that
                              ///< is not read-only
Need may(int access_mode, std::vector<const char*> any);  ///< one of the paths is there and open to
                                                          ///< this user; F_OK: is there
Need namespace_of_own(const char* kind);  ///< "net", "pid": it belongs to this user namespace
Need user_namespaces();  ///< with the other kinds that the sandbox's first tier makes
Need limited_id();  ///< an id may be mapped in them whose number of processes the kernel limits:
                    ///< not the machine's root
Need mounting();    ///< CAP_SYS_ADMIN, and no security module against it
Need mount_point(const char* path);
Need shelter();     ///< namespaces for what an attack spoils, or no right to spoil it
Need tracing();     ///< of any process of the same user: Yama's ptrace_scope
Need unfiltered();  ///< no filter of system calls around us, as a container has: it may judge by
                    ///< arguments

// What the kernel was built with and its administrator allows.
Need call(long number);  ///< the kernel judges this system call by its arguments; asked with -1 for
                         ///< each
/// a number; a file that is not there restricts nothing
Need setting(const char* file, std::int64_t lowest, std::int64_t highest, int or_capability = -1);
Need no_lockdown();
Need calls_of_32_bit();
Need local_descriptors();
Need real_time();
Need inotify_instances();

// The network, and the file system of /tmp.
Need loopback();                  ///< 127.0.0.1 is up
Need protocol(const char* name);  ///< as /proc/net/protocols lists it
Need file_handles(const char* path);
Need user_attributes();
Need exchange_of_names();
Need device_files();
Need disk(std::uint64_t bytes);

// Room: limits of this process and of what is around it.
Need processes(int count);  ///< so many more at once
Need limit(__rlimit_resource_t which, rlim_t at_least, const char* name);
Need raisable(__rlimit_resource_t which, rlim_t to, const char* name);
Need lockable_memory();

}  // namespace rollcall::sandbox::attacks
