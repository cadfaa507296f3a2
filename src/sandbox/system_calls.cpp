// The list of system calls that are allowed, and those on it that programs lose. A call that takes
// a command or flags is allowed only for the named commands and flags.
#include "sandbox/system_calls.hpp"

#include "base/errors/error.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

namespace rollcall::sandbox {
namespace {

// Calls of Python, shells and compilers. Besides all privileged calls, these are left out on
// purpose: sockets (except pairs), memfd, SysV and POSIX queues and shared memory, splice,
// io_uring, openat2, execveat, ptrace and similar calls, keys, timers that signal, file handles,
// namespaces, userfaultfd, perf, bpf.
constexpr const char* kAlways = R"(
read write readv writev pread64 pwrite64 close close_range dup dup2 dup3 lseek open openat creat stat fstat lstat newfstatat statx statfs fstatfs
access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2
link linkat symlink symlinkat truncate ftruncate fallocate umask fsync fdatasync flock sendfile copy_file_range fadvise64 mmap mprotect munmap mremap
madvise brk msync rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigpending rt_sigtimedwait sigaltstack pause alarm setitimer getitimer
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times futex set_robust_list get_robust_list set_tid_address rseq arch_prctl
membarrier sched_yield getcpu getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp uname sysinfo getrlimit setrlimit getrusage pipe pipe2 poll ppoll select pselect6 epoll_create
epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd eventfd2 sendto recvfrom sendmsg recvmsg shutdown getsockopt getsockname getpeername execve
exit exit_group wait4 waitid getrandom restart_syscall
)";
// Calls that are safe in namespaces: the pid namespace contains and ends the processes that they
// reach or start, and the read-only root and another user protect the files that they change
// (Landlock does not control attributes).
constexpr const char* kInNamespaces = R"(
fork vfork kill tkill tgkill setpgid setsid chmod fchmod fchmodat utime utimes utimensat
)";
// Calls that report on a process by its number. Without a pid namespace, that may be any process on
// the machine, so in the second tier only 0, the caller itself, is allowed.
constexpr std::array kOfAProcess = {"sched_getaffinity", "sched_getscheduler", "sched_getparam",
                                    "getpgid", "getsid"};

constexpr std::array<std::uint64_t, 12> kFcntl = {
    F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK,
    // no commands for owners, signals, leases, notifications and larger pipes
    F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC, F_OFD_GETLK, F_OFD_SETLK, 1032 /* F_GETPIPE_SZ */};
constexpr std::array<std::uint64_t, 6> kIoctl = {
    FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, 0x5401 /* TCGETS */, TIOCGWINSZ};
constexpr std::array<std::uint64_t, 6> kPrctl = {PR_SET_NAME,         PR_GET_NAME,
                                                 PR_GET_DUMPABLE,     PR_CAPBSET_READ,
                                                 PR_GET_NO_NEW_PRIVS, PR_GET_PDEATHSIG};
constexpr std::uint64_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
    CLONE_NEWNET | CLONE_PTRACE | CLONE_UNTRACED | CLONE_IO | CLONE_PARENT;
// namespaces that a worker makes for a run
constexpr std::uint64_t kOfARun = CLONE_NEWPID | CLONE_NEWNS;
// Options of prctl() that a worker uses to confine a run; withheld_calls() takes them away from
// programs.
constexpr std::array<std::uint64_t, 5> kConfining = {
    PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_CAP_AMBIENT, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP};
constexpr std::array kWorkersOnly = {"capset", "pidfd_open", "setsockopt",
                                     "mount",  "unshare",    "setns"};
constexpr std::uint64_t kSocketFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

class Filter {
 public:
  /// `otherwise` is the action for calls that no rule names.
  explicit Filter(std::uint32_t otherwise) : context_(seccomp_init(otherwise), seccomp_release) {
    check(context_ ? 0 : -ENOMEM);
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    // a search tree instead of a chain, if the library has it (2.5)
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  }

  template <class... Conditions>
  void allow(const char* name, const Conditions&... conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    // A call that this architecture lacks needs no rule, because no process can make it.
    if (number == __NR_SCMP_ERROR || number < 0) return;
    const std::array<scmp_arg_cmp, sizeof...(conditions)> all{conditions...};
    check(seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, number, unsigned(all.size()),
                                 all.data()));
  }

  template <class... Conditions>
  void refuse(const char* name, int error, const Conditions&... conditions) {
    const std::array<scmp_arg_cmp, sizeof...(conditions)> all{conditions...};
    check(seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(std::uint32_t(error)),
                                 seccomp_syscall_resolve_name(name), unsigned(all.size()),
                                 all.data()));
  }

  std::vector<sock_filter> compiled() const {
    const int file = ::memfd_create("filter", MFD_CLOEXEC);
    check(file < 0 ? -errno : seccomp_export_bpf(context_.get(), file));
    std::vector<sock_filter> program(std::size_t(::lseek(file, 0, SEEK_END)) / sizeof(sock_filter));
    const ssize_t bytes = ::pread(file, program.data(), program.size() * sizeof(sock_filter), 0);
    ::close(file);
    check(bytes > 0 && std::size_t(bytes) == program.size() * sizeof(sock_filter) ? 0 : -EIO);
    return program;
  }

 private:
  static void check(int result) {
    require<EnvironmentError>(result >= 0, "libseccomp cannot build the filter of system calls",
                              "untrusted code could not be confined",
                              "check libseccomp (2.5 or newer) and the kernel's seccomp support");
  }
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

}  // namespace

std::vector<sock_filter> worker_calls(Tier tier) {
  Filter filter(SCMP_ACT_ERRNO(ENOSYS));
  for (const auto& name : words(kAlways)) filter.allow(name.c_str());
  for (const auto command : kFcntl) filter.allow("fcntl", scmp_arg_cmp{1, SCMP_CMP_EQ, command, 0});
  for (const auto command : kIoctl) filter.allow("ioctl", scmp_arg_cmp{1, SCMP_CMP_EQ, command, 0});
  for (const auto option : kPrctl) filter.allow("prctl", scmp_arg_cmp{0, SCMP_CMP_EQ, option, 0});
  filter.allow("prlimit64", scmp_arg_cmp{0, SCMP_CMP_EQ, 0, 0});  // only for the calling process
  filter.allow("socketpair", scmp_arg_cmp{0, SCMP_CMP_EQ, AF_UNIX, 0},
               // stream sockets only, since a datagram could be sent to a name
               scmp_arg_cmp{1, SCMP_CMP_MASKED_EQ, 0xFFFFFFFFULL & ~kSocketFlags, SOCK_STREAM});
  if (tier == Tier::namespaces) {
    for (const auto& name : words(kInNamespaces)) filter.allow(name.c_str());
    for (const char* name : kOfAProcess) filter.allow(name);
    filter.allow("getpriority");
  } else {
    for (const char* name : kOfAProcess) filter.allow(name, scmp_arg_cmp{0, SCMP_CMP_EQ, 0, 0});
    filter.allow("getpriority", scmp_arg_cmp{0, SCMP_CMP_EQ, PRIO_PROCESS, 0},
                 scmp_arg_cmp{1, SCMP_CMP_EQ, 0, 0});
  }
  for (const char* name : {"socket", "chown", "fchown", "lchown", "fchownat", "setuid", "setgid",
                           "setpriority", "sched_setaffinity"}) {
    // Programs expect that these calls exist and are refused.
    if (seccomp_syscall_resolve_name(name) >= 0) filter.refuse(name, EPERM);
  }
  // ls makes these calls and expects EOPNOTSUPP.
  for (const char* name :
       {"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr"})
    filter.refuse(name, EOPNOTSUPP);
  // Programs lose all that follows (withheld_calls()).
  for (const auto option : kConfining)
    filter.allow("prctl", scmp_arg_cmp{0, SCMP_CMP_EQ, option, 0});
  for (const char* name : {"capset", "pidfd_open", "setsockopt"}) filter.allow(name);
  if (tier == Tier::namespaces) {
    filter.allow("mount");
    for (const auto made : {CLONE_NEWNS, CLONE_NEWPID})
      filter.allow("unshare", scmp_arg_cmp{0, SCMP_CMP_EQ, std::uint64_t(made), 0});
    filter.allow("setns", scmp_arg_cmp{1, SCMP_CMP_EQ, CLONE_NEWPID, 0});
    filter.allow("clone", scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, kNewNamespaces & ~kOfARun, 0});
  } else {
    for (const char* name : {"kill", "setsid"}) filter.allow(name);
    filter.allow("clone", scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, kNewNamespaces, 0});
  }
  return filter.compiled();
}

std::vector<sock_filter> withheld_calls(Tier tier) {
  Filter filter(SCMP_ACT_ALLOW);
  for (const auto option : kConfining)
    filter.refuse("prctl", ENOSYS, scmp_arg_cmp{0, SCMP_CMP_EQ, option, 0});
  for (const char* name : kWorkersOnly) filter.refuse(name, ENOSYS);
  if (tier == Tier::namespaces) {
    for (const auto made : {CLONE_NEWNS, CLONE_NEWPID})
      filter.refuse("clone", ENOSYS,
                    scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, std::uint64_t(made), std::uint64_t(made)});
  } else {
    for (const char* name : {"kill", "setsid"}) filter.refuse(name, ENOSYS);
    // A call that would start a process; threads are allowed, since they end with their process.
    filter.refuse("clone", ENOSYS, scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0});
  }
  return filter.compiled();
}

}  // namespace rollcall::sandbox
