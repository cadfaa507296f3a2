// The second tier: Landlock on files, for kernels or sites without user namespaces. Its three
// system calls need no wrapper library.
#include "base/errors/error.hpp"
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rollcall::sandbox {
namespace {

constexpr const char* kReadable[] = {
    "/usr",         "/bin",     "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives",
    "/dev/urandom", "/dev/zero"};
constexpr unsigned kFreeId = 64000U;

// Numbers of the kernel's interface (linux/landlock.h), since headers are often older than the
// kernel.
constexpr std::uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kUpToRefer = kRefer - 1;
constexpr std::uint64_t kHandled = kUpToRefer | kRefer | kTruncate;
constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kDevicesMade =
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK;

void demand(bool ok, const std::string& what) {
  const int error = errno;
  require<EnvironmentError>(ok, fmt::format("{}: {}", what, std::strerror(error)),
                            "untrusted code could not be confined by Landlock",
                            "use a system with user namespaces, or a newer kernel");
}

void allow(int rules, const std::string& path, std::uint64_t access) {
  const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (place < 0) return;  // a folder that the system lacks needs no rule
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = access;
  beneath.parent_fd = place;
  const bool folder = ::faccessat(place, ".", F_OK, 0) == 0;
  if (!folder) beneath.allowed_access &= kOfFiles;
  const long added =
      ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  const int error = errno;
  ::close(place);
  errno = error;
  demand(added == 0, "Landlock refuses a rule for " + path);
}

}  // namespace

bool landlock_is_complete() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 3;
}

void restrict_by_landlock(const std::string& folder, unsigned number) {
  std::uint64_t handled = kHandled;
  const int rules = int(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  demand(rules >= 0, "Landlock refuses a set of rules");
  for (const char* path : kReadable) allow(rules, path, kRead);
  allow(rules, "/dev/null", kRead | LANDLOCK_ACCESS_FS_WRITE_FILE);
  allow(rules, folder, kHandled & ~kDevicesMade);
  if (::geteuid() == 0) {
    for (unsigned long right = 0; ::prctl(PR_CAPBSET_READ, right, 0, 0, 0) >= 0; ++right)
      (void)::prctl(PR_CAPBSET_DROP, right, 0, 0, 0);  // a container may lack CAP_SETPCAP
    const unsigned id = kFreeId + number;
    demand(::chown(folder.c_str(), id, id) == 0 && ::setgroups(0, nullptr) == 0 &&
               ::setresgid(id, id, id) == 0 && ::setresuid(id, id, id) == 0,
           "cannot become another user");
  }
  demand(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             ::syscall(SYS_landlock_restrict_self, rules, 0) == 0,
         "Landlock cannot be entered");
  // Landlock would let programs open the worker's pipes through /proc/PID/fd.
  demand(::prctl(PR_SET_DUMPABLE, 0) == 0, "the worker cannot be closed to its programs");
  ::close(rules);
}

}  // namespace rollcall::sandbox
