// What src/sandbox/README.md says that a program has, a test a line, asked by a program inside.
// usage: promises [namespaces | landlock]     Exit 77: no such tier here
#include "attacks/attack.hpp"
#include "sandbox/confinement.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace rollcall::sandbox;
using namespace rollcall::sandbox::attacks;
using Text = std::string_view;

std::set<std::string> names_of(const char* folder) {
  std::set<std::string> names;
  DIR* const open = ::opendir(folder);
  if (open == nullptr) return {"?"};
  while (const dirent* entry = ::readdir(open))
    if (entry->d_name[0] != '.') names.insert(entry->d_name);
  ::closedir(open);
  return names;
}

/// 0, or the names that are not among those wanted, as output.
int only(const char* folder, const std::set<std::string>& wanted, std::string& out) {
  for (const auto& name : names_of(folder))
    if (!wanted.contains(name)) out.append(folder).append("/").append(name).append(" ");
  return got(out.empty());
}

constexpr const char* kSeen = "promise-rights";  // up to 15 letters

int be_seen(Text, std::string&) {
  ::prctl(PR_SET_NAME, kSeen);
  ::usleep(500'000);
  return 0;
}

/// The capabilities of the process of that name, as the host sees them: a program may not ask
/// itself.
std::string rights_seen() {
  for (int look = 0; look < 400; ++look, ::usleep(5000)) {
    for (const auto& process : names_of("/proc")) {
      std::ifstream status("/proc/" + process + "/status");
      std::string line, all;
      if (!std::getline(status, line) || line != std::string("Name:\t").append(kSeen)) continue;
      while (std::getline(status, line))
        if (line.starts_with("Cap") && !line.starts_with("CapBnd")) all.append(line).append(" ");
      return all;
    }
  }
  return "nobody was seen";
}

bool has_no_rights(const Sandbox& sandbox) {
  std::string seen;
  std::thread looker([&] { seen = rights_seen(); });
  const Outcome outcome = sandbox.run(function(be_seen));
  looker.join();
  // CapInh:	0000000000000000 and the like.
  bool none = outcome.end == End::passed && seen.starts_with("Cap");
  for (std::size_t at = seen.find('\t'); at != std::string::npos; at = seen.find('\t', at + 1))
    none = none && seen.compare(at + 1, 16, std::string(16, '0')) == 0;
  std::printf("%-56s %s %s\n", "capabilities: none", none ? "kept" : "BROKEN", seen.c_str());
  return none;
}

int can_regain(Text, std::string& out) {
  for (unsigned long right = 0; right < 41; ++right)
    if (::prctl(PR_CAPBSET_READ, right, 0, 0, 0) > 0) out.append(std::to_string(right)).append(" ");
  return got(out.empty());
}

/// Bytes that fit into files in the working folder, at most `most` bytes each.
std::uint64_t room(int files, std::size_t most) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::uint64_t bytes = 0;
  const std::vector<char> piece(1 << 20, 'x');
  for (int i = 0; i < files; ++i) {
    const int file =
        ::open(std::string("room-").append(std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
    for (std::size_t size = 0; file >= 0 && size < most; size += piece.size()) {
      const ssize_t n = ::write(file, piece.data(), piece.size());
      if (n > 0) bytes += std::uint64_t(n);
      if (n < ssize_t(piece.size())) break;
    }
    if (file >= 0) ::close(file);
  }
  return bytes;
}

constexpr std::uint64_t kFiles = 8 << 20;
constexpr int kProcesses = 6;

int processes_at_once(std::string& out) {
  int made = 0;
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return 1;
  for (; made < 64; ++made) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child > 0) continue;
    char byte = 0;
    ::close(ends[1]);
    (void)!::read(ends[0], &byte, 1);
    ::_exit(0);
  }
  out = std::to_string(made);
  ::close(ends[1]);
  while (::wait(nullptr) > 0) continue;
  return made;
}

struct Promise {
  const char* line;
  Function kept;  ///< exit status 0: it is
};

/// Of both tiers.
std::vector<Promise> of_both() {
  return {
      {"user: not root, and its files are nobody's own",
       [](Text, std::string&) {
         return got(::getuid() != 0 && ::geteuid() != 0 && ::getgid() != 0);
       }},
      {"files: /usr, /bin and the loader's cache may be read",
       [](Text, std::string&) {
         return got(::access("/usr/bin", R_OK) == 0 && ::access("/bin/sh", X_OK) == 0 &&
                    ::open("/etc/ld.so.cache", O_RDONLY) >= 0);
       }},
      {"files: read-only",
       [](Text, std::string&) {
         return got(::open("/usr/made", O_WRONLY | O_CREAT, 0600) < 0 &&
                    ::open("/etc/made", O_WRONLY | O_CREAT, 0600) < 0);
       }},
      {"devices: null and zero",
       [](Text, std::string&) {
         return got(::open("/dev/null", O_WRONLY) >= 0 && ::open("/dev/zero", O_RDONLY) >= 0 &&
                    ::open("/dev/urandom", O_RDONLY) >= 0);
       }},
      {"writable: the working folder",
       [](Text, std::string&) {
         return got(::open("mine", O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0);
       }},
      {"writable: nothing of the run before is left there",
       [](Text, std::string& out) { return only(".", {}, out); }},
      {"writable: each file is bounded",
       [](Text, std::string& out) {
         const auto bytes = room(1, 64 << 20);
         out = std::to_string(bytes);
         return got(bytes <= kFiles && bytes >= kFiles / 2);
       }},
      {"network: no system call to open a socket",
       [](Text, std::string&) {
         return got(::socket(AF_INET, SOCK_STREAM, 0) < 0 && ::socket(AF_UNIX, SOCK_STREAM, 0) < 0);
       }},
      {"IPC: no shared memory and no queue",
       [](Text, std::string&) {
         return got(::syscall(SYS_shmget, 1, 4096, 01600) < 0 &&
                    ::syscall(SYS_mq_open, "/x", O_CREAT | O_RDWR, 0600, nullptr) < 0);
       }},
      {"capabilities: no_new_privs",
       [](Text, std::string&) { return got(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1); }},
      {"system calls: others answer ENOSYS",
       [](Text, std::string&) {
         return got(::syscall(SYS_memfd_create, "x", 0) < 0 && errno == ENOSYS &&
                    ::syscall(SYS_bpf, 0, nullptr, 0) < 0 && errno == ENOSYS);
       }},
  };
}

std::vector<Promise> of_namespaces() {
  return {
      {"files: nothing else exists",
       [](Text, std::string& out) {
         return only("/",
                     {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp",
                      "usr"},
                     out) +
                only("/etc", {"ld.so.cache", "alternatives", "localtime", "passwd", "group"}, out) +
                only("/dev", {"null", "zero", "urandom", "random", "full"}, out);
       }},
      {"files: four devices",
       [](Text, std::string& out) {
         for (const auto& name : names_of("/dev")) out.append(name).append(" ");
         return got(names_of("/dev").size() == 4);
       }},
      {"files: an account file of its own",
       [](Text, std::string&) {
         std::ifstream accounts("/etc/passwd");
         std::string first, second;
         return got(std::getline(accounts, first) && first.starts_with("sandbox:") &&
                    !std::getline(accounts, second));
       }},
      {"writable: a fresh tmpfs, bounded in bytes",
       [](Text, std::string& out) {
         const auto bytes = room(4, 64 << 20);
         out = std::to_string(bytes);
         return got(bytes <= kFiles);
       }},
      {"writable: and in files",
       [](Text, std::string& out) {
         int made = 0;
         while (made < 4096) {
           const int file = ::open(std::string("n").append(std::to_string(made)).c_str(),
                                   O_WRONLY | O_CREAT, 0600);
           if (file < 0) break;
           ::close(file), ++made;
         }
         out = std::to_string(made);
         return got(made > 100 && made <= 1024);
       }},
      {"/proc: empty", [](Text, std::string& out) { return only("/proc", {}, out); }},
      {"processes: as many as allowed",
       [](Text, std::string& out) {
         const int made = processes_at_once(out);
         return got(made >= kProcesses - 1 && made < kProcesses + 10);
       }},
      {"processes: a pid namespace of its own",
       [](Text, std::string&) { return got(::getpid() < 10 && ::getppid() <= 1); }},
      {"capabilities: none to regain", can_regain},
  };
}

std::vector<Promise> behind_landlock() {
  return {
      {"/proc: other processes' entries cannot be opened",
       [](Text in, std::string&) {
         return got(::open(std::string("/proc/").append(in).append("/environ").c_str(), O_RDONLY) <
                    0);
       }},
      {"files: other files cannot be read",
       [](Text, std::string&) {
         return got(::open("/etc/hostname", O_RDONLY) < 0 && ::open("/etc/passwd", O_RDONLY) < 0);
       }},
      {"processes: one, with threads", [](Text, std::string&) { return got(::fork() < 0); }},
      {"processes: sending a signal is refused",
       [](Text in, std::string&) {
         return got(::kill(std::atoi(std::string(in).c_str()), 0) < 0);
       }},
  };
}

/// As in escapes.cpp: user namespaces are forbidden from here on, or nothing of the second tier is
/// seen.
bool can_try(Tier tier, bool& is_root) {
  is_root = ::geteuid() == 0;
  if (tier == Tier::namespaces)
    return absent({processes(8), user_namespaces(), limited_id()}).empty();
  if (!landlock_is_complete()) return false;
  if (::unshare(CLONE_NEWUSER) == 0) std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
  is_root = ::geteuid() == 0;
  ::prctl(PR_SET_DUMPABLE, 1);
  return give_up_capabilities() == 0 && !absent({user_namespaces()}).empty();
}

}  // namespace

int main(int argc, char** argv) {
  const Tier tier = argc > 1 && std::string_view(argv[1]) == name_of(Tier::landlock)
                        ? Tier::landlock
                        : Tier::namespaces;
  bool is_root = false;
  if (!can_try(tier, is_root))
    return std::printf("tier %s cannot be tried here\n", name_of(tier)), 77;
  Setup setup;
  setup.workers = 1, setup.allow_landlock = tier == Tier::landlock;
  setup.limits = {.cpu_s = 2,
                  .wall_s = 10,
                  .memory = 128 << 20,
                  .output = 1 << 16,
                  .files = kFiles,
                  .processes = kProcesses};
  const Sandbox sandbox(setup);
  auto promises = of_both();
  const auto more = tier == Tier::landlock ? behind_landlock() : of_namespaces();
  promises.insert(promises.end(), more.begin(), more.end());
  if (tier == Tier::landlock && is_root)
    promises.push_back({"capabilities: none to regain", can_regain});
  int broken = has_no_rights(sandbox) ? 0 : 1;
  for (const Promise& promise : promises) {
    const Outcome outcome = sandbox.run(function(promise.kept), std::to_string(::getpid()));
    const bool kept = outcome.end == End::passed && outcome.tier == tier;
    broken += kept ? 0 : 1;
    std::printf("%-56s %s %s%s\n", promise.line, kept ? "kept" : "BROKEN", outcome.out.c_str(),
                outcome.reason.c_str());
  }
  std::printf("%zu promises of tier %s, %d broken\n", promises.size() + 1, name_of(tier), broken);
  return broken == 0 ? 0 : 1;
}
