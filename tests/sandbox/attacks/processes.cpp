// Attacks on other processes: signals, tracing, memory, descriptors, scheduling; and processes that
// would outlive their run.
#include "attacks/attack.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

namespace rollcall::sandbox::attacks {
namespace {
using Text = std::string_view;

pid_t host(Text in) { return Bait::parse(in).host; }

/// SIGKILL to whoever started this process: it got it when another parent takes its place.
int kill_parent(Text, std::string&) {
  const pid_t parent = ::getppid();
  ::kill(parent, SIGKILL);
  for (int i = 0; i < 200 && ::getppid() == parent; ++i) ::usleep(1000);
  return got(::getppid() != parent);
}

int stop_parent(Text, std::string&) {
  const pid_t parent = ::getppid();
  if (::kill(parent, SIGSTOP) != 0) return 1;
  ::usleep(1000);
  // the first process of a pid namespace cannot be stopped from within
  return got(::kill(parent, SIGCONT) == 0 && parent != 1);
}

int read_parent(Text, std::string&) {
  static int mine = 7;
  int theirs = 0;
  iovec to{&theirs, sizeof theirs}, from{&mine, sizeof mine};  // the same place in a fork
  return got(::process_vm_readv(::getppid(), &to, 1, &from, 1, 0) == sizeof theirs);
}

int write_parent(Text, std::string&) {
  static int mine = 7;
  iovec here{&mine, sizeof mine}, there{&mine, sizeof mine};
  return got(::process_vm_writev(::getppid(), &here, 1, &there, 1, 0) == sizeof mine);
}

int open_pipes_of_parent(Text, std::string&) {
  const std::string folder = "/proc/" + std::to_string(::getppid()) + "/fd/";
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    if (::open((folder + std::to_string(descriptor)).c_str(), O_RDONLY | O_NONBLOCK) >= 0) return 0;
  }
  return 1;
}

/// A child that takes the name that the host looks for and waits, after `detach`.
template <class Detach>
int leave_behind(Text in, Detach detach) {
  const pid_t child = ::fork();
  if (child > 0) return 0;
  if (child < 0) return 1;
  detach();
  ::prctl(PR_SET_NAME, left_behind_by(host(in)).c_str());
  for (int i = 0; i < 30; ++i) ::sleep(1);
  ::_exit(0);
}

void let_go() {
  for (int descriptor = 0; descriptor < 3; ++descriptor) ::close(descriptor);
}
}  // namespace

std::vector<Attack> on_processes() {
  return {
      {"kill the parent", kill_parent},
      {"stop the parent", stop_parent},
      {"signal the host", [](Text in, std::string&) { return got(::kill(host(in), 0) == 0); }},
      {"signal everybody", [](Text, std::string&) { return got(::kill(-1, 0) == 0); }},
      {"signal a thread of the host",
       [](Text in, std::string&) {
         return got(::syscall(SYS_tgkill, host(in), host(in), 0) == 0);
       }},
      {"queue a signal to the host",
       [](Text in, std::string&) { return got(::sigqueue(host(in), 0, {}) == 0); }},
      {"take the host's descriptor of process",
       [](Text in, std::string&) { return got(::syscall(SYS_pidfd_open, host(in), 0) >= 0); },
       {call(SYS_pidfd_open)}},
      {"take a descriptor of the parent",
       [](Text in, std::string&) {
         const int parent = int(::syscall(SYS_pidfd_open, ::getppid(), 0));
         return got(::syscall(SYS_pidfd_getfd, parent, Bait::parse(in).descriptor, 0) >= 0);
       },
       {call(SYS_pidfd_getfd), tracing()}},
      {"own the signals of a file",
       [](Text in, std::string&) {
         int pipe[2];
         return got(::pipe(pipe) == 0 && ::fcntl(pipe[0], F_SETOWN, host(in)) == 0);
       }},
      {"trace the parent",
       [](Text, std::string&) { return got(::ptrace(PTRACE_SEIZE, ::getppid(), 0, 0) == 0); },
       {tracing(), call(SYS_ptrace)}},
      {"trace the host",
       [](Text in, std::string&) { return got(::ptrace(PTRACE_SEIZE, host(in), 0, 0) == 0); },
       {tracing(), call(SYS_ptrace)}},
      {"ask to be traced",
       [](Text, std::string&) { return got(::ptrace(PTRACE_TRACEME, 0, 0, 0) == 0); },
       {tracing(), call(SYS_ptrace)}},
      {"trace a child",
       [](Text, std::string&) {
         const pid_t child = ::fork();
         if (child == 0) {
           ::sleep(1);
           ::_exit(0);
         }
         const bool traced = ::ptrace(PTRACE_SEIZE, child, 0, 0) == 0;
         ::kill(child, SIGKILL);
         return got(traced);
       },
       {tracing(), call(SYS_ptrace)}},
      {"read the parent's memory", read_parent, {tracing(), call(SYS_process_vm_readv)}},
      {"write the parent's memory", write_parent, {tracing(), call(SYS_process_vm_writev)}},
      {"open the parent's memory",
       [](Text, std::string&) {
         return got(::open(("/proc/" + std::to_string(::getppid()) + "/mem").c_str(), O_RDWR) >= 0);
       },
       {proc(), tracing()}},
      {"open the parent's pipes", open_pipes_of_parent, {proc()}},
      {"read the parent's environment",
       [](Text, std::string&) {
         return got(
             ::open(("/proc/" + std::to_string(::getppid()) + "/environ").c_str(), O_RDONLY) >= 0);
       },
       {proc()}},
      {"read the host's command line",
       [](Text in, std::string&) {
         return got(::open(("/proc/" + std::to_string(host(in)) + "/cmdline").c_str(), O_RDONLY) >=
                    0);
       },
       {proc()}},
      {"compare with the parent",
       [](Text, std::string&) {
         return got(::syscall(SYS_kcmp, ::getpid(), ::getppid(), 1, 0, 0) >= 0);
       },
       {call(SYS_kcmp)}},
      {"move the parent's pages",
       [](Text, std::string&) {
         return got(::syscall(SYS_move_pages, ::getppid(), 0, nullptr, nullptr, nullptr, 0) >= 0);
       },
       {call(SYS_move_pages)}},
      {"advise the parent's memory",
       [](Text, std::string&) {
         return reached(::syscall(SYS_process_madvise, -1, nullptr, 0, 0, 0));
       },
       {call(SYS_process_madvise)}},
      {"limit the host",
       [](Text in, std::string&) {
         rlimit now{};
         return got(::prlimit(host(in), RLIMIT_NOFILE, nullptr, &now) == 0);
       }},
      {"read the host's priority",
       [](Text in, std::string&) {
         errno = 0;
         return got(::getpriority(PRIO_PROCESS, id_t(host(in))) != -1 || errno == 0);
       }},
      {"read the host's processors",
       [](Text in, std::string&) {
         cpu_set_t set;
         return got(::sched_getaffinity(host(in), sizeof set, &set) == 0);
       }},
      {"find the host's session",
       [](Text in, std::string&) { return got(::getsid(host(in)) >= 0); }},
      {"raise the own priority",
       [](Text, std::string&) { return got(::setpriority(PRIO_PROCESS, 0, -10) == 0); },
       {machine_capability(CAP_SYS_NICE)}},
      {"run in real time",
       [](Text, std::string&) {
         const sched_param one{1};
         return got(::sched_setscheduler(0, SCHED_RR, &one) == 0);
       },
       {real_time()}},
      {"choose processors",
       [](Text, std::string&) {
         cpu_set_t set;
         // not every machine lets us have every processor
         if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
         return got(::sched_setaffinity(0, sizeof set, &set) == 0);
       }},
      {"raise the priority of reading",
       [](Text, std::string&) { return got(::syscall(SYS_ioprio_set, 1, 0, (2 << 13) | 0) == 0); },
       {call(SYS_ioprio_set)}},
      {"adopt orphans",
       [](Text, std::string&) { return got(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); }},
      {"be told by no parent's death",
       [](Text, std::string&) { return got(::prctl(PR_SET_PDEATHSIG, 0) == 0); }},
      {"let anybody trace",
       [](Text, std::string&) { return got(::prctl(PR_SET_DUMPABLE, 1) == 0); }},
      {"share the parent's parent",
       [](Text, std::string&) {
         const long child =
             ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0L);
         if (child == 0) ::_exit(0);
         return got(child > 0);
       }},
  };
}

std::vector<Attack> outliving() {
  return {
      {"a child", [](Text in, std::string&) { return leave_behind(in, let_go); }},
      {"a child that holds the pipes",
       [](Text in, std::string&) { return leave_behind(in, [] {}); }},
      {"a session of its own",
       [](Text in, std::string&) {
         return leave_behind(in, [] {
           let_go();
           ::setsid();
         });
       }},
      {"a daemon",
       [](Text in, std::string&) {
         return leave_behind(in, [] {
           let_go();
           ::setsid();
           if (::fork() != 0) ::_exit(0);
         });
       }},
      {"a child deaf to signals",
       [](Text in, std::string&) {
         return leave_behind(in, [] {
           let_go();
           for (int s = 1; s < 32; ++s) ::signal(s, SIG_IGN);
         });
       }},
      {"a child with all signals blocked",
       [](Text in, std::string&) {
         return leave_behind(in, [] {
           let_go();
           sigset_t all;
           sigfillset(&all);
           ::sigprocmask(SIG_BLOCK, &all, nullptr);
         });
       }},
      {"a child behind many",
       [](Text in, std::string&) {
         return leave_behind(in, [] {
           let_go();
           for (int i = 0; i < 8; ++i) {
             if (::fork() != 0) ::_exit(0);
           }
         });
       },
       {processes(12)}},
      {"a child after the parent was killed",
       [](Text in, std::string&) {
         leave_behind(in, let_go);
         ::kill(::getpid(), SIGKILL);
         return 0;
       }},
  };
}

}  // namespace rollcall::sandbox::attacks
