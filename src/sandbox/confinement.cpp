// The rights that a run's process gives up: others' files, resources, capabilities, system calls.
#include "sandbox/confinement.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace rollcall::sandbox {
namespace {

constexpr rlim_t kDescriptors = 256, kStack = 8 << 20;
// RLIMIT_NPROC counts all processes of a user, so these come on top of a run's own: the worker, the
// warm interpreter, two of the checks, the first process of the run's pid namespace, and one that
// is being reaped.
constexpr int kOwnProcesses = 6;

std::vector<std::pair<int, rlimit>> resource_limits(const Limits& limits, std::uint64_t own_size) {
  const auto at = [](rlim_t value) { return rlimit{value, value}; };
  const rlim_t cpu_s = rlim_t(limits.cpu_s);
  std::vector<std::pair<int, rlimit>> all = {
      // At the limit the kernel sends SIGXCPU, which means nothing else. A second later it sends
      // SIGKILL to programs that ignore SIGXCPU; that signal may also have another cause.
      {RLIMIT_CPU, {cpu_s, cpu_s + 1}},
      {RLIMIT_AS, at(limits.memory + own_size)},
      {RLIMIT_FSIZE, at(limits.files)},
      {RLIMIT_NPROC, at(rlim_t(limits.processes + kOwnProcesses))},
      {RLIMIT_NOFILE, at(kDescriptors)},
      {RLIMIT_STACK, at(std::min<rlim_t>(kStack, limits.memory))},
      {RLIMIT_CORE, at(0)},
      {RLIMIT_MEMLOCK, at(0)},
      {RLIMIT_MSGQUEUE, at(0)},
      {RLIMIT_SIGPENDING, at(256)},
      {RLIMIT_NICE, at(0)},
      {RLIMIT_RTPRIO, at(0)}};
  for (auto& [resource, limit] : all) {
    rlimit now{};
    if (::getrlimit(__rlimit_resource_t(resource), &now) != 0) continue;
    // the site may have set a lower limit, which cannot be raised
    limit = {std::min(limit.rlim_cur, now.rlim_max), std::min(limit.rlim_max, now.rlim_max)};
  }
  return all;
}

}  // namespace

Restraints restraints_of(const Limits& limits, std::uint64_t own_size) {
  return {fmt::format("size={},nr_inodes=1024,mode=700", limits.files),
          resource_limits(limits, own_size)};
}

int mount_private_folder(const Restraints& restraints) {
  return ::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, restraints.folder.c_str()) == 0 &&
                 ::chdir("/tmp") == 0
             ? 0
             : errno;
}

int limit_resources(const Restraints& restraints) {
  for (const auto& [resource, limit] : restraints.limits) {
    if (::setrlimit(__rlimit_resource_t(resource), &limit) != 0) return errno;
  }
  return 0;
}

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * std::uint64_t(::sysconf(_SC_PAGESIZE));
}

std::string resource_options(const Limits& limits) {
  std::string text;
  for (const auto& [resource, limit] : resource_limits(limits, 0))
    text += fmt::format("{} {} {} ", resource, limit.rlim_cur, limit.rlim_max);
  return text;
}

int give_up_capabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

int install(const std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

}  // namespace rollcall::sandbox
