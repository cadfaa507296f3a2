// Attacks on the kernel's wider surface: namespaces, rings, programs for the kernel, keys, modules, clocks, old calling conventions. "Reached" is enough: most
// hand over arguments that the kernel refuses only after it has let the caller in.
#include "attacks/attack.hpp"

#include <fcntl.h>
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
int call(Text, std::string&) {
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
    {"a user namespace", [](Text, std::string&) { return got(::unshare(CLONE_NEWUSER) == 0); }},
        {"a mount namespace", [](Text, std::string&) { return got(::unshare(CLONE_NEWNS) == 0); }},
        {"a network namespace", [](Text, std::string&) { return got(::unshare(CLONE_NEWNET) == 0); }},
        {"a pid namespace", [](Text, std::string&) { return got(::unshare(CLONE_NEWPID) == 0); }},
        {"a cgroup namespace", [](Text, std::string&) { return got(::unshare(CLONE_NEWCGROUP) == 0); }},
        {"a process in a user namespace", [](Text, std::string&) { return clones(CLONE_NEWUSER); }},
        {"a process in a pid namespace", [](Text, std::string&) { return clones(CLONE_NEWPID); }},
        {"a process in a user and mount namespace", [](Text, std::string&) { return clones(CLONE_NEWUSER | CLONE_NEWNS); }},
        {"a process by clone3", [](Text, std::string&) { return clones3(); }}, {"enter a namespace", call<SYS_setns>},
        {"the parent's namespace",
         [](Text, std::string&) { return got(::open(("/proc/" + std::to_string(::getppid()) + "/ns/user").c_str(), O_RDONLY) >= 0); }},
        {"set up io_uring", [](Text, std::string&) { return reached(::syscall(SYS_io_uring_setup, 8, nullptr)); }},
        {"enter io_uring", call<SYS_io_uring_enter>}, {"register with io_uring", call<SYS_io_uring_register>},
        {"load a program into the kernel", call<SYS_bpf>},
        {"count events",
         [](Text, std::string&) {
           char attributes[128] = {};
           return reached(::syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
         }},
        {"handle page faults", [](Text, std::string&) { return reached(::syscall(SYS_userfaultfd, 0)); }},
        {"read keys", [](Text, std::string&) { return reached(::syscall(SYS_keyctl, 0, -3, 0)); }},
        {"add a key", [](Text, std::string&) { return got(::syscall(SYS_add_key, "user", "attack", "x", 1, -3) >= 0); }},
        {"request a key", [](Text, std::string&) { return reached(::syscall(SYS_request_key, "user", "attack-none", nullptr, 0)); }},
        {"load a kernel", call<SYS_kexec_load>, "a kernel that is built without it says ENOSYS to everybody"},
        {"load a module", [](Text, std::string&) { return reached(::syscall(SYS_init_module, nullptr, 0, "")); }, "a kernel may be built without it"},
        {"load a module from a file", call<SYS_finit_module>, "a kernel may be built without it"},
        {"unload a module", [](Text, std::string&) { return reached(::syscall(SYS_delete_module, "attack_none", O_NONBLOCK)); },
         "a kernel may be built without it"},
        {"restart the machine", [](Text, std::string&) { return reached(::syscall(SYS_reboot, 1, 2, 3, nullptr)); }},  // numbers that mean nothing
        {"read the kernel's log", [](Text, std::string&) { return reached(::klogctl(10, nullptr, 0)); }},
        {"use ports of the machine", [](Text, std::string&) { return reached(::syscall(SYS_ioperm, 0x80, 1, 1)); }, "a kernel may be built without it"},
        {"raise the level of ports", [](Text, std::string&) { return reached(::syscall(SYS_iopl, 3)); }, "a kernel may be built without it"},
        {"set the clock", [](Text, std::string&) { return reached(::syscall(SYS_clock_settime, -1, nullptr)); }},
        {"set the time of day",
         [](Text, std::string&) {
           const timeval bad{-1, -1};
           return reached(::syscall(SYS_settimeofday, &bad, nullptr));
         }},
        {"tune the clock",
         [](Text, std::string&) {
           timex now{};
           return reached(::adjtimex(&now));
         }},
        {"name the machine", [](Text, std::string&) { return got(::sethostname("attack", 6) == 0); }},
        {"name the domain", [](Text, std::string&) { return got(::setdomainname("attack", 6) == 0); }},
        {"become root", [](Text, std::string&) { return got(::setuid(0) == 0 && ::getuid() == 0); }},
        {"become root by all ids", [](Text, std::string&) { return got(::setresuid(0, 0, 0) == 0); }},
        {"join root's group", [](Text, std::string&) { return got(::syscall(SYS_setgroups, 0, nullptr) == 0); }},
        {"gain capabilities",
         [](Text, std::string&) {
           unsigned header[2] = {0x20080522, 0}, sets[6] = {};
           if (::syscall(SYS_capget, header, sets) != 0) return 1;
           sets[0] = sets[1] = 1U << 21;
           return got(::syscall(SYS_capset, header, sets) == 0);
         }},
        {"another personality", [](Text, std::string&) { return got(::personality(ADDR_NO_RANDOMIZE) >= 0); }},
        {"a memory file", [](Text, std::string&) { return got(::memfd_create("attack", 0) >= 0); }},
        {"a secret memory file", call<SYS_memfd_secret>, "a kernel may be started without it"},
        {"shared memory of System V",
         [](Text, std::string&) {
           const int id = ::shmget(IPC_PRIVATE, 4096, 0600);
           return got(id >= 0 && ::shmctl(id, IPC_RMID, nullptr) == 0);
         }},
        {"semaphores of System V",
         [](Text, std::string&) {
           const int id = ::semget(IPC_PRIVATE, 1, 0600);
           return got(id >= 0 && ::semctl(id, 0, IPC_RMID) == 0);
         }},
        {"messages of System V",
         [](Text, std::string&) {
           const int id = ::msgget(IPC_PRIVATE, 0600);
           return got(id >= 0 && ::msgctl(id, IPC_RMID, nullptr) == 0);
         }},
        {"a queue of POSIX", [](Text, std::string&) { return got(::mq_open("/attack", O_CREAT | O_RDWR, 0600, nullptr) >= 0 && ::mq_unlink("/attack") == 0); }},
        {"a timer that signals",
         [](Text, std::string&) {
           timer_t timer;
           return got(::timer_create(CLOCK_MONOTONIC, nullptr, &timer) == 0);
         }},
        {"splice pages", call<SYS_splice>}, {"splice memory", call<SYS_vmsplice>}, {"tee pages", call<SYS_tee>},
        {"execute a descriptor", [](Text, std::string&) { return reached(::syscall(SYS_execveat, -1, "", nullptr, nullptr, AT_EMPTY_PATH)); }},
        {"loosen the filter",
         [](Text, std::string&) {
           sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U);
           const sock_fprog program{1, &all};
           return got(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, 2, &program) == 0);
         }},
        {"a filter of its own", [](Text, std::string&) { return reached(::syscall(SYS_seccomp, 1, 0, nullptr)); }},
        {"change its memory map", [](Text, std::string&) { return got(::prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0) == 0 || errno == EINVAL); },
         "it needs CAP_SYS_RESOURCE, which a container's root may lack"},
        {"local descriptors of segments",
         [](Text, std::string&) {
           char buffer[16];
           return reached(::syscall(SYS_modify_ldt, 0, buffer, sizeof buffer));
         },
         "a kernel may be built without it"},
        {"bind memory", call<SYS_set_mempolicy>, "a kernel may be built without it"},
        {"move another's pages", call<SYS_migrate_pages>, "a kernel may be built without it"},
        {"hang up the terminal", [](Text, std::string&) { return reached(::syscall(SYS_vhangup)); }, "it would hang up this one"},
        {"lock memory", [](Text, std::string&) { return got(::mlockall(MCL_CURRENT) == 0); }},
#if defined(__x86_64__)
        {"the calls of 32-bit programs", old_convention},
#endif
  };
}

}  // namespace rollcall::sandbox::attacks
