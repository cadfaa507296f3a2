// The first tier: new namespaces, an id that owns nothing, and a root of a few read-only folders.
#include "base/errors/error.hpp"
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace rollcall::sandbox {
namespace {

constexpr const char* kFolders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr const char* kFiles[] = {"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"};
// First user ids of workers outside the namespaces. The first is far above people's ids; the second
// is tried next, since most containers have only 65,536 ids.
constexpr unsigned kFreeIds[] = {2146435072U, 64000U};

void demand(bool ok, const std::string& what) {
  const int error = errno;
  require<EnvironmentError>(
      ok, fmt::format("{}: {}", what, std::strerror(error)),
      "untrusted code could not be confined by namespaces",
      "let this user create user namespaces, or allow the second tier in the run file");
}

bool write_file(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool ok = file >= 0 && ::write(file, text.data(), text.size()) == ssize_t(text.size());
  const int error = errno;
  if (file >= 0) ::close(file);
  errno = error;
  return ok;
}

/// The mounts below the newest mount at `root`, parents first. /proc/self/mountinfo lists mounts as
/// "ID PARENT DEVICE ROOT PATH ...", also those below an older mount at `root`, which are hidden
/// and left out here.
std::vector<std::string> mounts_under(const std::string& root) {
  struct Mount {
    int id = 0, parent = 0;
    std::string path;
  };
  std::vector<Mount> all;
  std::ifstream lines("/proc/self/mountinfo");
  for (std::string line, skipped; std::getline(lines, line);) {
    Mount& mount = all.emplace_back();
    std::istringstream(line) >> mount.id >> mount.parent >> skipped >> skipped >> mount.path;
  }
  std::set<int> within;
  for (const Mount& mount : all) {
    if (mount.path == root) within = {mount.id};
  }
  std::vector<std::string> found;
  for (const Mount& mount : all) {
    if (!within.contains(mount.parent)) continue;
    within.insert(mount.id);
    // mountinfo escapes spaces in names, so such a path is not found and the set-up ends with an
    // error
    found.push_back(mount.path);
  }
  return found;
}

/// Makes each mount read-only on its own, because a recursive bind leaves those below its top
/// writable, and mount_setattr() is too new for many sites (Linux 5.12).
void make_read_only(const std::string& path) {
  struct statvfs now {};
  demand(::statvfs(path.c_str(), &now) == 0, "cannot read the flags of " + path);
  unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID;
  if (now.f_flag & ST_NODEV)
    flags |= MS_NODEV;  // flags of the outer namespace are locked and must be repeated
  if (now.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
  if (now.f_flag & ST_NOATIME) flags |= MS_NOATIME;
  if (now.f_flag & ST_NODIRATIME) flags |= MS_NODIRATIME;
  if (now.f_flag & ST_RELATIME) flags |= MS_RELATIME;
  demand(::mount(nullptr, path.c_str(), nullptr, flags, nullptr) == 0,
         "cannot make " + path + " read-only");
}

/// Shows a folder, file, device or link of the system at the same place in the new root. Whatever
/// the system lacks is left out.
void show(const std::string& root, const std::string& path) {
  struct stat what {};
  if (::lstat(path.c_str(), &what) != 0) return;
  const std::string place = root + path;
  if (S_ISLNK(what.st_mode)) {
    std::array<char, 4096> target{};
    demand(::readlink(path.c_str(), target.data(), target.size() - 1) > 0 &&
               ::symlink(target.data(), place.c_str()) == 0,
           "cannot link " + place);
    return;
  }
  if (S_ISDIR(what.st_mode)) demand(::mkdir(place.c_str(), 0755) == 0, "cannot make " + place);
  else demand(::mknod(place.c_str(), S_IFREG | 0644, 0) == 0, "cannot make " + place);
  demand(::mount(path.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0,
         "cannot bind " + path);
}

void set_capabilities(std::uint32_t held, std::uint32_t inheritable) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  sets[0].effective = sets[0].permitted = held;
  sets[0].inheritable = inheritable;
  demand(::syscall(SYS_capset, &header, sets) == 0, "cannot set capabilities");
}

void write_account(const std::string& root) {
  std::ofstream(root + "/etc/passwd")
      << "sandbox:x:" << kInsideId << ":" << kInsideId << "::/tmp:/bin/sh\n";
  std::ofstream(root + "/etc/group") << "sandbox:x:" << kInsideId << ":\n";
}

}  // namespace

pid_t fork_into_namespaces() {
  constexpr unsigned long all = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  return pid_t(::syscall(SYS_clone, all | SIGCHLD, nullptr, nullptr, nullptr, 0L));
}

bool map_ids(pid_t child, unsigned number) {
  const std::string folder = fmt::format("/proc/{}/", child);
  for (const unsigned first : kFreeIds) {
    if (write_file(folder + "uid_map", fmt::format("{} {} 1\n", kInsideId, first + number)))
      return write_file(folder + "gid_map", fmt::format("{} {} 1\n", kInsideId, first + number));
  }
  // A plain user may map only its own id, and only once supplementary groups can no longer be
  // dropped.
  return write_file(folder + "setgroups", "deny") &&
         write_file(folder + "uid_map", fmt::format("{} {} 1\n", kInsideId, ::geteuid())) &&
         write_file(folder + "gid_map", fmt::format("{} {} 1\n", kInsideId, ::getegid()));
}

void become_inside_user() {
  // EPERM is expected if map_ids() has written "deny" to setgroups
  if (::setgroups(0, nullptr) != 0) demand(errno == EPERM, "cannot drop supplementary groups");
  demand(::setresgid(kInsideId, kInsideId, kInsideId) == 0 &&
             ::setresuid(kInsideId, kInsideId, kInsideId) == 0,
         "cannot become the sandbox's user");
}

void demand_limited_processes() {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(1);
    const pid_t beyond = ::fork();
    ::_exit(beyond < 0 && errno == EAGAIN ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  require<EnvironmentError>(
      child > 0 && status == 0,
      "the kernel does not limit the processes of this user: it is the machine's root, and no other id can be mapped",
      "a program could start processes without end",
      "run as another user, or as root with CAP_SETUID and CAP_SETGID");
}

void enter_minimal_root() {
  const std::string root = "/tmp";  // the new root is built here, in its own mount namespace
  demand(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
         "cannot make mounts private");
  demand(::mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                 "size=1m,nr_inodes=256,mode=755") == 0,
         "cannot mount a tmpfs");
  for (const char* folder : {"/etc", "/dev", "/proc", "/tmp"})
    demand(::mkdir((root + folder).c_str(), 0755) == 0, "cannot make folders of the new root");
  for (const char* path : kFolders) show(root, path);
  for (const char* path : kFiles) show(root, path);
  for (const char* path : kDevices) show(root, path);
  write_account(root);
  for (const std::string& path : mounts_under(root)) make_read_only(path);
  demand(::chdir(root.c_str()) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
             ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0,
         "cannot change the root");
  demand(::mount(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV,
                 nullptr) == 0,
         "cannot make the root read-only");
}

void keep_only_mount_rights() {
  constexpr int kNoRoot =
      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED;
  demand(::prctl(PR_SET_SECUREBITS, kNoRoot, 0, 0, 0) == 0, "cannot take root's rights away");
  // CAP_SYS_ADMIN becomes inheritable while the bounding set has it; afterwards it could not.
  set_capabilities(1U << CAP_SYS_ADMIN | 1U << CAP_SETPCAP, 1U << CAP_SYS_ADMIN);
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    demand(::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0, "cannot drop capabilities");
  demand(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0,
         "cannot keep the right to mount");
  set_capabilities(1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN);
}

}  // namespace rollcall::sandbox
