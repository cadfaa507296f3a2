// Where the kernel publishes a need, its file is read; else something other than the attack is
// tried that the same gate lets through.
#include "attacks/needs.hpp"
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace rollcall::sandbox::attacks {
namespace {

constexpr std::uint32_t kOverflowId = 65534;  // what an id that is not mapped here looks like

bool in_a_process_of_its_own(const std::function<bool()>& present) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(present() ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

bool holds(int number) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  return ::syscall(SYS_capget, &header, sets) == 0 &&
         (sets[number / 32].effective >> (number % 32) & 1U) != 0;
}

/// "INSIDE OUTSIDE COUNT" a line.
bool maps(const char* file,
          bool (*enough)(std::uint64_t inside, std::uint64_t outside, std::uint64_t count)) {
  std::ifstream lines(file);
  for (std::uint64_t inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;) {
    if (enough(inside, outside, count)) return true;
  }
  return false;
}

bool has_own_id() {
  constexpr auto any = [](std::uint64_t, std::uint64_t, std::uint64_t) { return true; };
  return maps("/proc/self/uid_map", any) && maps("/proc/self/gid_map", any);
}

bool is_first_user_namespace() {
  return maps("/proc/self/uid_map",
              [](std::uint64_t inside, std::uint64_t outside, std::uint64_t count) {
                return inside == 0 && outside == 0 && count > 4'000'000'000U;
              });
}

bool holds_on_machine(int number) { return holds(number) && is_first_user_namespace(); }

/// A new name in /tmp that is gone at the end.
struct Place {
  std::string path = "/tmp/rollcall-need-" + std::to_string(::getpid());
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::remove(path.c_str()); }
};

bool shelters() {
  return ::unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mounts_a_tmpfs() {
  const Place place;
  return shelters() && ::mkdir(place.path.c_str(), 0700) == 0 &&
         ::mount("tmpfs", place.path.c_str(), "tmpfs", 0, nullptr) == 0 &&
         ::umount2(place.path.c_str(), MNT_DETACH) == 0;
}

bool swaps_names() {
  const Place one;
  Place other;
  other.path += "-other";
  return ::mkdir(one.path.c_str(), 0700) == 0 && ::mkdir(other.path.c_str(), 0700) == 0 &&
         ::syscall(SYS_renameat2, AT_FDCWD, one.path.c_str(), AT_FDCWD, other.path.c_str(),
                   2 /* exchange */) == 0;
}

bool is_written(const char* path) {
  struct stat s {};
  struct statvfs where {};
  if (::stat(path, &s) != 0 || ::statvfs(path, &where) != 0 || (where.f_flag & ST_RDONLY) != 0)
    return false;
  const bool owner = has_own_id() && s.st_uid == ::geteuid() && (s.st_mode & S_IWUSR) != 0,
             anybody = (s.st_mode & S_IWOTH) != 0;
  return owner || anybody || (holds(CAP_DAC_OVERRIDE) && s.st_uid != kOverflowId);
}

bool owns_namespace(const std::string& kind) {
  struct stat owner {
  }, own{};
  const int space = ::open(("/proc/self/ns/" + kind).c_str(), O_RDONLY);
  return ::fstat(::ioctl(space, NS_GET_USERNS), &owner) == 0 &&
         ::stat("/proc/self/ns/user", &own) == 0 && owner.st_ino == own.st_ino;
}

bool is_mount_point(const std::string& path) {
  std::ifstream lines("/proc/self/mountinfo");
  for (std::string line, field; std::getline(lines, line);) {
    std::istringstream fields(line);
    for (int i = 0; i < 5; ++i) fields >> field;
    if (field == path) return true;
  }
  return false;
}

bool starts(int count) {
  int gate[2];
  if (::pipe(gate) != 0) return false;
  int started = 0;
  for (; started < count; ++started) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child > 0) continue;
    ::close(gate[1]);
    char byte = 0;
    ::_exit(int(::read(gate[0], &byte, 1)));  // until the gate is closed
  }
  ::close(gate[1]);
  while (::wait(nullptr) > 0) continue;
  return started == count;
}

/// Whether a user namespace of ours may have this id of here as its own.
bool maps_an_id(unsigned outside) {
  int gate[2];
  if (::pipe(gate) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(gate[0]);
    const bool made = ::unshare(CLONE_NEWUSER) == 0;
    (void)!::write(gate[1], made ? "y" : "n", 1);
    ::pause();
  }
  ::close(gate[1]);
  char made = 'n';
  bool mapped = false;
  if (::read(gate[0], &made, 1) == 1 && made == 'y') {
    std::ofstream map("/proc/" + std::to_string(child) + "/uid_map");
    map << "7 " << outside << " 1" << std::flush;
    mapped = bool(map);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return mapped;
}

/// The kernel limits the processes of all users but the machine's root, which is that even in a
/// user namespace and without any right.
bool forks_are_limited() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  const rlimit one{1, 1};
  if (::syscall(SYS_capset, &header, none) != 0 || ::setrlimit(RLIMIT_NPROC, &one) != 0)
    return false;
  return !starts(2);
}

/// With -1 for each argument no call does anything: descriptors, addresses, sizes and flags are all
/// impossible.
bool is_judged(long number) {
  const long result = ::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
  return result >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES);
}

bool is_up() {
  ifaddrs* all = nullptr;
  bool found = false;
  if (::getifaddrs(&all) != 0) return false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    found = found || reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr ==
                         htonl(INADDR_LOOPBACK);
  }
  ::freeifaddrs(all);
  return found;
}

bool lists(const char* file, const std::string& first_word) {
  std::ifstream lines(file);
  for (std::string line, word; std::getline(lines, line);) {
    if (std::istringstream(line) >> word && word == first_word) return true;
  }
  return false;
}

std::string named_capability(int number) {
  static const std::map<int, const char*> names = {{CAP_CHOWN, "CHOWN"},
                                                   {CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH"},
                                                   {CAP_NET_RAW, "NET_RAW"},
                                                   {CAP_SYS_MODULE, "SYS_MODULE"},
                                                   {CAP_SYS_RAWIO, "SYS_RAWIO"},
                                                   {CAP_SYS_CHROOT, "SYS_CHROOT"},
                                                   {CAP_SYS_PACCT, "SYS_PACCT"},
                                                   {CAP_SYS_ADMIN, "SYS_ADMIN"},
                                                   {CAP_SYS_BOOT, "SYS_BOOT"},
                                                   {CAP_SYS_NICE, "SYS_NICE"},
                                                   {CAP_SYS_RESOURCE, "SYS_RESOURCE"},
                                                   {CAP_SYS_TTY_CONFIG, "SYS_TTY_CONFIG"},
                                                   {CAP_MKNOD, "MKNOD"}};
  return std::string("CAP_") + names.at(number);
}
}  // namespace

std::string absent(const std::vector<Need>& needs) {
  static std::map<std::string, bool> known;
  for (const Need& need : needs) {
    const auto [answer, is_new] = known.try_emplace(need.name, false);
    if (is_new) answer->second = in_a_process_of_its_own(need.present);
    if (!answer->second) return need.name;
  }
  return "";
}

Need capability(int number) {
  return {named_capability(number), [number] { return holds(number); }};
}
Need machine_capability(int number) {
  return {named_capability(number) + " of the whole machine",
          [number] { return holds_on_machine(number); }};
}
Need proc() {
  return {"/proc", [] {
            return ::access(("/proc/" + std::to_string(::getpid()) + "/status").c_str(), R_OK) == 0;
          }};
}
Need root() {
  return {"user 0", [] { return ::geteuid() == 0; }};
}
Need own_id() { return {"an id of its own", has_own_id}; }
Need second_id() {
  constexpr auto has_one = [](std::uint64_t inside, std::uint64_t, std::uint64_t count) {
    return inside <= 1 && 1 < inside + count;
  };
  return {"a second user id", [has_one] {
            return maps("/proc/self/uid_map", has_one) && maps("/proc/self/gid_map", has_one);
          }};
}
Need setting_groups() {
  return {"the right to set groups", [] {
            return holds(CAP_SETGID) && has_own_id() && !lists("/proc/self/setgroups", "deny");
          }};
}
Need owns(const char* path) {
  return {std::string("the right to write ") + path, [path] { return is_written(path); }};
}
Need may(int access_mode, std::vector<const char*> any) {
  std::string name = access_mode == F_OK ? "" : "the right to open ";
  for (const char* path : any) name += path == any.front() ? path : std::string(" or ") + path;
  return {name, [access_mode, any] {
            return std::any_of(any.begin(), any.end(),
                               [&](const char* path) { return ::eaccess(path, access_mode) == 0; });
          }};
}
Need namespace_of_own(const char* kind) {
  return {std::string("a namespace of its own: ") + kind, [kind] { return owns_namespace(kind); }};
}
Need user_namespaces() {
  return {"user namespaces", [] {
            const pid_t child = fork_into_namespaces();
            if (child == 0) ::_exit(0);
            return child > 0;
          }};
}
Need limited_id() {
  return {"an id in user namespaces whose processes are limited",
          [] { return maps_an_id(64000) || (maps_an_id(::geteuid()) && forks_are_limited()); }};
}
Need mounting() { return {"the right to mount", mounts_a_tmpfs}; }
Need mount_point(const char* path) {
  return {std::string("a mount at ") + path, [path] { return is_mount_point(path); }};
}
Need shelter() {
  return {"namespaces to shelter the machine", [] { return shelters() || !holds(CAP_SYS_ADMIN); }};
}
Need tracing() {
  return {"the right to trace", [] {
            int scope = 0;
            std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
            return scope == 0 || (scope < 3 && holds(CAP_SYS_PTRACE));
          }};
}
Need unfiltered() {
  return {"a life without a filter of system calls", [] { return ::prctl(PR_GET_SECCOMP) == 0; }};
}

Need call(long number) {
  return {"system call " + std::to_string(number), [number] { return is_judged(number); }};
}
Need setting(const char* file, std::int64_t lowest, std::int64_t highest, int or_capability) {
  return {std::string("the setting ") + file, [=] {
            std::int64_t value = lowest;
            std::ifstream(std::string("/proc/sys/") + file) >> value;
            return (lowest <= value && value <= highest) ||
                   (or_capability >= 0 && holds_on_machine(or_capability));
          }};
}
Need no_lockdown() {
  return {"a kernel that is not locked down", [] {
            std::string mode;
            std::getline(std::ifstream("/sys/kernel/security/lockdown"), mode);
            return mode.empty() || mode.find("[none]") != std::string::npos;
          }};
}
Need calls_of_32_bit() {
  return {"calls of 32-bit programs", [] {
#if defined(__x86_64__)
            long result = 64;  // getppid() there
            asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
            return result == ::getppid();
#else
            return false;
#endif
          }};
}
Need local_descriptors() {
  return {"local descriptors of segments", [] {
            char buffer[16];
            return ::syscall(SYS_modify_ldt, 2 /* the default ones */, buffer, sizeof buffer) >= 0;
          }};
}
Need real_time() {
  return {"the right to run in real time", [] {
            const sched_param one{1};
            return ::sched_setscheduler(0, SCHED_FIFO, &one) == 0;
          }};
}
Need inotify_instances() {
  return {"one more inotify instance", [] { return ::inotify_init1(0) >= 0; }};
}

Need loopback() { return {"a network", is_up}; }
Need protocol(const char* name) {
  return {std::string("the protocol ") + name,
          [name] { return lists("/proc/net/protocols", name); }};
}
Need file_handles(const char* path) {
  return {std::string("handles of files in ") + path, [path] {
            constexpr std::array<std::uint32_t, 5> give = {
                0xEF53 /* ext */, 0x58465342 /* xfs */, 0x9123683E /* btrfs */,
                0x01021994 /* tmpfs */, 0xF2F52010 /* f2fs */};
            struct statfs s {};
            return ::statfs(path, &s) == 0 &&
                   std::find(give.begin(), give.end(), std::uint32_t(s.f_type)) != give.end();
          }};
}
Need user_attributes() {
  return {"user attributes in /tmp",
          [] { return ::getxattr("/tmp", "user.none", nullptr, 0) >= 0 || errno == ENODATA; }};
}
Need exchange_of_names() { return {"an exchange of names in /tmp", swaps_names}; }
Need device_files() {
  return {"device files in /tmp", [] {
            const Place place;
            return ::mknod(place.path.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0;
          }};
}
Need disk(std::uint64_t bytes) {
  return {std::to_string(bytes >> 20) + " MiB in /tmp", [bytes] {
            struct statvfs s {};
            return ::statvfs("/tmp", &s) == 0 && std::uint64_t(s.f_bavail) * s.f_frsize >= bytes;
          }};
}

Need processes(int count) {
  return {std::to_string(count) + " more processes", [count] { return starts(count); }};
}
Need limit(__rlimit_resource_t which, rlim_t at_least, const char* name) {
  return {std::string("a limit of ") + name + " of " + std::to_string(at_least), [=] {
            rlimit now{};
            return ::getrlimit(which, &now) == 0 && now.rlim_cur >= at_least;
          }};
}
Need raisable(__rlimit_resource_t which, rlim_t to, const char* name) {
  return {std::string("a hard limit of ") + name + " of " +
              (to == RLIM_INFINITY ? "any size" : std::to_string(to)),
          [=] {
            rlimit now{};
            return ::getrlimit(which, &now) == 0 &&
                   (now.rlim_max >= to || holds_on_machine(CAP_SYS_RESOURCE));
          }};
}
Need lockable_memory() {
  return {"memory that may be locked", [] {
            rlimit now{};
            return holds_on_machine(CAP_IPC_LOCK) ||
                   (::getrlimit(RLIMIT_MEMLOCK, &now) == 0 && now.rlim_cur == RLIM_INFINITY);
          }};
}

}  // namespace rollcall::sandbox::attacks
