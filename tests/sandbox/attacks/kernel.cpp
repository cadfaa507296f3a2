// Attacks on the kernel's wider surface: namespaces, rings, programs for the kernel, keys, modules,
// clocks, old calling conventions. "Reached" is enough: most hand over arguments that the kernel
// refuses only after it has let the caller in.
#include "attacks/attack.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>

namespace rollcall::sandbox::attacks {
namespace {
using Text = std::string_view;

int clones(unsigned long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0L);
  if (child == 0) ::_exit(0);
  return got(child > 0);
}

int clones3() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  return got(child > 0);
}

template <long Number>
int calls(Text, std::string&) {
  return reached(::syscall(Number, -1L, 0L, 0L, 0L, 0L, 0L));
}

#if defined(__x86_64__)
/// The call numbers of 32-bit programs mean other things: 20 is getpid() there.
int old_convention(Text, std::string&) {
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return got(result == ::getpid());
}
#endif
}  // namespace

std::vector<Attack> on_kernel() {
  return {
    {"a user namespace",
     [](Text, std::string&) { return got(::unshare(CLONE_NEWUSER) == 0); },
     {user_namespaces()}},
        {"a mount namespace",
         [](Text, std::string&) { return got(::unshare(CLONE_NEWNS) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"a network namespace",
         [](Text, std::string&) { return got(::unshare(CLONE_NEWNET) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"a pid namespace",
         [](Text, std::string&) { return got(::unshare(CLONE_NEWPID) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"a cgroup namespace",
         [](Text, std::string&) { return got(::unshare(CLONE_NEWCGROUP) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"a process in a user namespace",
         [](Text, std::string&) { return clones(CLONE_NEWUSER); },
         {user_namespaces()}},
        {"a process in a pid namespace",
         [](Text, std::string&) { return clones(CLONE_NEWPID); },
         {capability(CAP_SYS_ADMIN)}},
        {"a process in a user and mount namespace",
         [](Text, std::string&) { return clones(CLONE_NEWUSER | CLONE_NEWNS); },
         {user_namespaces()}},
        {"a process by clone3",
         [](Text, std::string&) { return clones3(); },
         {user_namespaces(), call(SYS_clone3)}},
        {"enter a namespace", calls<SYS_setns>, {call(SYS_setns)}},
        {"the parent's namespace",
         [](Text, std::string&) {
           return got(::open(("/proc/" + std::to_string(::getppid()) + "/ns/user").c_str(),
                             O_RDONLY) >= 0);
         },
         {proc()}},
        {"set up io_uring",
         [](Text, std::string&) { return reached(::syscall(SYS_io_uring_setup, 8, nullptr)); },
         {setting("kernel/io_uring_disabled", 0, 0, CAP_SYS_ADMIN), call(SYS_io_uring_setup)}},
        {"enter io_uring", calls<SYS_io_uring_enter>, {call(SYS_io_uring_enter)}},
        {"register with io_uring", calls<SYS_io_uring_register>, {call(SYS_io_uring_register)}},
        {"load a program into the kernel", calls<SYS_bpf>, {call(SYS_bpf)}},
        {"count events",
         [](Text, std::string&) {
           char attributes[128] = {};
           return reached(::syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
         },
         {setting("kernel/perf_event_paranoid", -1, 1, CAP_SYS_ADMIN), call(SYS_perf_event_open)}},
        {"handle page faults",
         [](Text, std::string&) { return reached(::syscall(SYS_userfaultfd, 0)); },
         {setting("vm/unprivileged_userfaultfd", 1, 1, CAP_SYS_PTRACE), call(SYS_userfaultfd)}},
        {"read keys",
         [](Text, std::string&) { return reached(::syscall(SYS_keyctl, 0, -3, 0)); },
         {call(SYS_keyctl)}},
        {"add a key",
         [](Text, std::string&) {
           return reached(::syscall(SYS_add_key, "user", "attack", "x", 1, -3));
         },
         {call(SYS_add_key)}},
        {"request a key",
         [](Text, std::string&) {
           return reached(::syscall(SYS_request_key, "user", "attack-none", nullptr, 0));
         },
         {call(SYS_request_key)}},
        {"load a kernel",
         [](Text, std::string&) {
           return reached(::syscall(SYS_kexec_load, 0, -1L, nullptr, -1L));
         },
         {machine_capability(CAP_SYS_BOOT), call(SYS_kexec_load)}},
        {"load a module",
         [](Text, std::string&) { return reached(::syscall(SYS_init_module, nullptr, 0, "")); },
         {machine_capability(CAP_SYS_MODULE), call(SYS_init_module)}},
        {"load a module from a file",
         calls<SYS_finit_module>,
         {machine_capability(CAP_SYS_MODULE), call(SYS_finit_module)}},
        {"unload a module",
         [](Text, std::string&) {
           return reached(::syscall(SYS_delete_module, "attack_none", O_NONBLOCK));
         },
         {machine_capability(CAP_SYS_MODULE), call(SYS_delete_module)}},
        {"restart the machine",
         [](Text, std::string&) { return reached(::syscall(SYS_reboot, 1, 2, 3, nullptr)); },
         {capability(CAP_SYS_BOOT), call(SYS_reboot)}},  // numbers that mean nothing
        {"read the kernel's log",
         [](Text, std::string&) { return reached(::klogctl(10, nullptr, 0)); },
         {setting("kernel/dmesg_restrict", 0, 0, CAP_SYSLOG), call(SYS_syslog)}},
        {"use ports of the machine",
         [](Text, std::string&) { return reached(::syscall(SYS_ioperm, 0x80, 1, 1)); },
         {machine_capability(CAP_SYS_RAWIO), no_lockdown(), call(SYS_ioperm)}},
        {"raise the level of ports",
         [](Text, std::string&) { return reached(::syscall(SYS_iopl, 3)); },
         {machine_capability(CAP_SYS_RAWIO), no_lockdown(), call(SYS_iopl)}},
        {"set the clock",
         [](Text, std::string&) { return reached(::syscall(SYS_clock_settime, -1, nullptr)); },
         {call(SYS_clock_settime)}},
        {"set the time of day",
         [](Text, std::string&) {
           const timeval bad{-1, -1};
           return reached(::syscall(SYS_settimeofday, &bad, nullptr));
         },
         {call(SYS_settimeofday)}},
        {"tune the clock",
         [](Text, std::string&) {
           timex now{};
           return reached(::adjtimex(&now));
         },
         {call(SYS_clock_adjtime)}},
        {"name the machine",
         [](Text, std::string&) { return got(::sethostname("attack", 6) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"name the domain",
         [](Text, std::string&) { return got(::setdomainname("attack", 6) == 0); },
         {capability(CAP_SYS_ADMIN)}},
        {"become root",
         [](Text, std::string&) { return got(::setuid(0) == 0 && ::getuid() == 0); },
         {root()}},
        {"become root by all ids",
         [](Text, std::string&) { return got(::setresuid(0, 0, 0) == 0); },
         {root()}},
        {"join root's group",
         [](Text, std::string&) { return got(::syscall(SYS_setgroups, 0, nullptr) == 0); },
         {setting_groups()}},
        {"gain capabilities",
         [](Text, std::string&) {
           unsigned header[2] = {0x20080522, 0}, sets[6] = {};
           if (::syscall(SYS_capget, header, sets) != 0) return 1;
           sets[0] = sets[1] = 1U << 21;
           return got(::syscall(SYS_capset, header, sets) == 0);
         },
         {capability(CAP_SYS_ADMIN)}},
        {"another personality",
         [](Text, std::string&) { return got(::personality(ADDR_NO_RANDOMIZE) >= 0); },
         {unfiltered()}},
        {"a memory file",
         [](Text, std::string&) { return got(::memfd_create("attack", 0) >= 0); },
         {call(SYS_memfd_create)}},
        {"a secret memory file", calls<SYS_memfd_secret>, {call(SYS_memfd_secret)}},
        {"shared memory of System V",
         [](Text, std::string&) {
           const int id = ::shmget(IPC_PRIVATE, 4096, 0600);
           return got(id >= 0 && ::shmctl(id, IPC_RMID, nullptr) == 0);
         },
         {may(F_OK, {"/proc/sysvipc/shm"}), unfiltered()}},
        {"semaphores of System V",
         [](Text, std::string&) {
           const int id = ::semget(IPC_PRIVATE, 1, 0600);
           return got(id >= 0 && ::semctl(id, 0, IPC_RMID) == 0);
         },
         {may(F_OK, {"/proc/sysvipc/sem"}), unfiltered()}},
        {"messages of System V",
         [](Text, std::string&) {
           const int id = ::msgget(IPC_PRIVATE, 0600);
           return got(id >= 0 && ::msgctl(id, IPC_RMID, nullptr) == 0);
         },
         {may(F_OK, {"/proc/sysvipc/msg"}), unfiltered()}},
        {"a queue of POSIX",
         [](Text, std::string&) {
           return got(::mq_open("/attack", O_CREAT | O_RDWR, 0600, nullptr) >= 0 &&
                      ::mq_unlink("/attack") == 0);
         },
         {may(F_OK, {"/proc/sys/fs/mqueue"}), own_id(),
          limit(RLIMIT_MSGQUEUE, 128 << 10, "bytes of queues")}},
        {"a timer that signals",
         [](Text, std::string&) {
           timer_t timer;
           return got(::timer_create(CLOCK_MONOTONIC, nullptr, &timer) == 0);
         },
         {limit(RLIMIT_SIGPENDING, 64, "pending signals")}},
        {"splice pages", calls<SYS_splice>, {call(SYS_splice)}},
        {"splice memory", calls<SYS_vmsplice>, {call(SYS_vmsplice)}},
        {"tee pages", calls<SYS_tee>, {call(SYS_tee)}},
        {"execute a descriptor",
         [](Text, std::string&) {
           return reached(::syscall(SYS_execveat, -1, "", nullptr, nullptr, AT_EMPTY_PATH));
         },
         {call(SYS_execveat)}},
        {"loosen the filter",
         [](Text, std::string&) {
           sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U);
           const sock_fprog program{1, &all};
           return got(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      ::prctl(PR_SET_SECCOMP, 2, &program) == 0);
         }},
        {"a filter of its own",
         [](Text, std::string&) { return reached(::syscall(SYS_seccomp, 1, 0, nullptr)); },
         {call(SYS_seccomp)}},
        {"change its memory map",
         [](Text, std::string&) {
           return got(::prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0) == 0 || errno == EINVAL);
         },
         {machine_capability(CAP_SYS_RESOURCE)}},
        {"local descriptors of segments",
         [](Text, std::string&) {
           char buffer[16];
           return reached(::syscall(SYS_modify_ldt, 0, buffer, sizeof buffer));
         },
         {local_descriptors()}},
        {"bind memory", calls<SYS_set_mempolicy>, {call(SYS_set_mempolicy)}},
        {"move another's pages", calls<SYS_migrate_pages>, {call(SYS_migrate_pages)}},
        {"hang up the terminal",
         [](Text, std::string&) {
           ::setsid();  // away from this terminal
           return reached(::syscall(SYS_vhangup));
         },
         {machine_capability(CAP_SYS_TTY_CONFIG)}},
        {"lock memory",
         [](Text, std::string&) { return got(::mlockall(MCL_CURRENT) == 0); },
         {lockable_memory()}},
#if defined(__x86_64__)
        {"the calls of 32-bit programs", old_convention, {calls_of_32_bit()}},
#endif
  };
}

}  // namespace rollcall::sandbox::attacks
