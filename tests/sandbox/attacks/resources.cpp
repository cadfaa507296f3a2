// Attacks on what the machine has: more memory, processes, files, descriptors or time than a run is
// given. `kMany` is above every limit of the test's sandbox.
#include "attacks/attack.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace rollcall::sandbox::attacks {
namespace {
using Text = std::string_view;

constexpr std::size_t kManyBytes = 192 << 20;
constexpr int kMany = 40;

int maps(int flags) {
  void* memory = ::mmap(nullptr, kManyBytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  std::memset(memory, 1, kManyBytes / 16);
  return 0;
}

int raises(__rlimit_resource_t which, rlim_t to) {
  const rlimit both{to, to};
  return got(::setrlimit(which, &both) == 0);
}

int many_processes(Text, std::string&) {
  int alive = 0;
  pid_t children[kMany];
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    alive += child > 0 ? 1 : 0;
  }
  for (const pid_t child : children) {
    if (child > 0) ::kill(child, SIGKILL);
  }
  return got(alive == kMany);
}

/// Every process starts two more.
int fork_bomb(Text, std::string&) {
  const auto counter = static_cast<int*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int depth = 0;
  const pid_t top = ::getpid();
  while (depth < 6) {
    const pid_t left = ::fork(), right = left == 0 ? 0 : ::fork();
    __atomic_add_fetch(counter, (left == 0) + 0, __ATOMIC_SEQ_CST);
    if (left != 0 && right != 0) break;
    ++depth;
  }
  if (::getpid() != top) {
    ::usleep(1000000);  // so that all of them are alive at once when they are counted
    ::_exit(0);
  }
  for (int i = 0; i < 80 && __atomic_load_n(counter, __ATOMIC_SEQ_CST) < kMany; ++i)
    ::usleep(10000);
  return got(__atomic_load_n(counter, __ATOMIC_SEQ_CST) >= kMany);
}

int many_files(Text, std::string&) {
  const std::string folder = "many-" + std::to_string(::getpid());
  ::mkdir(folder.c_str(), 0700);
  for (int i = 0; i < 1200; ++i) {
    const int file = ::open((folder + "/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600);
    if (file < 0) return 1;
    ::close(file);
  }
  return 0;
}

int large_file(Text, std::string&) {
  ::signal(SIGXFSZ, SIG_IGN);
  const std::string name = "large-" + std::to_string(::getpid());
  const int file = ::open(name.c_str(), O_CREAT | O_WRONLY, 0600);
  const auto block = std::make_unique<char[]>(1 << 20);
  std::memset(block.get(), 1, 1 << 20);
  bool all = true;
  for (int i = 0; i < 24 && all; ++i) all = ::write(file, block.get(), 1 << 20) == 1 << 20;
  ::unlink(name.c_str());
  return got(all);
}

/// Files that are each within the limit fill the folder.
int many_large_files(Text, std::string&) {
  const auto block = std::make_unique<char[]>(1 << 20);
  std::memset(block.get(), 1, 1 << 20);
  bool all = true;
  for (int i = 0; i < 24 && all; ++i) {
    const std::string name = "part-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    all = ::write(::open(name.c_str(), O_CREAT | O_WRONLY, 0600), block.get(), 1 << 20) == 1 << 20;
    ::unlink(name.c_str());  // still open
  }
  return got(all);
}

int many_descriptors(Text, std::string&) {
  int open = 0;
  while (open < 512 && ::open("/dev/null", O_RDONLY) >= 0) ++open;
  return got(open == 512);
}
}  // namespace

std::vector<Attack> on_resources() {
  return {
      {"much memory",
       [](Text, std::string&) { return maps(MAP_PRIVATE | MAP_ANONYMOUS); },
       {limit(RLIMIT_AS, 1 << 30, "address space"), limit(RLIMIT_DATA, 1 << 30, "bytes of data"),
        setting("vm/overcommit_memory", 0, 1)}},
      {"much shared memory",
       [](Text, std::string&) { return maps(MAP_SHARED | MAP_ANONYMOUS); },
       {limit(RLIMIT_AS, 1 << 30, "address space"), limit(RLIMIT_DATA, 1 << 30, "bytes of data"),
        setting("vm/overcommit_memory", 0, 1)}},
      {"much memory that grows",
       [](Text, std::string&) { return got(::sbrk(kManyBytes) != reinterpret_cast<void*>(-1)); },
       {limit(RLIMIT_AS, 1 << 30, "address space"), limit(RLIMIT_DATA, 1 << 30, "bytes of data"),
        setting("vm/overcommit_memory", 0, 1)}},
      {"much memory in pieces",
       [](Text, std::string&) {
         for (std::size_t all = 0; all < kManyBytes; all += 64 << 10) {
           if (std::malloc(64 << 10) == nullptr) return 1;
         }
         return 0;
       },
       {limit(RLIMIT_AS, 1 << 30, "address space"), limit(RLIMIT_DATA, 1 << 30, "bytes of data"),
        setting("vm/overcommit_memory", 0, 1)}},
      {"a raised limit of memory",
       [](Text, std::string&) { return raises(RLIMIT_AS, RLIM_INFINITY); },
       {raisable(RLIMIT_AS, RLIM_INFINITY, "memory")}},
      {"a raised limit of processor time",
       [](Text, std::string&) { return raises(RLIMIT_CPU, RLIM_INFINITY); },
       {raisable(RLIMIT_CPU, RLIM_INFINITY, "seconds")}},
      {"a raised limit of processes",
       [](Text, std::string&) { return raises(RLIMIT_NPROC, 1000); },
       {raisable(RLIMIT_NPROC, 1000, "processes")}},
      {"a raised limit of files",
       [](Text, std::string&) { return raises(RLIMIT_FSIZE, RLIM_INFINITY); },
       {raisable(RLIMIT_FSIZE, RLIM_INFINITY, "bytes of a file")}},
      {"a raised limit of descriptors",
       [](Text, std::string&) { return raises(RLIMIT_NOFILE, 4096); },
       {raisable(RLIMIT_NOFILE, 4096, "descriptors")}},
      {"a memory image",
       [](Text, std::string&) { return raises(RLIMIT_CORE, 1 << 20); },
       {raisable(RLIMIT_CORE, 1 << 20, "bytes of an image")}},
      {"many processes", many_processes, {processes(44)}},
      {"a fork bomb", fork_bomb, {processes(160)}},
      {"many files", many_files, {disk(64 << 20)}},
      {"a large file",
       large_file,
       {disk(64 << 20), limit(RLIMIT_FSIZE, 64 << 20, "bytes of a file")}},
      {"many large files", many_large_files, {disk(64 << 20)}},
      {"a file with a hole",
       [](Text, std::string&) {
         ::signal(SIGXFSZ, SIG_IGN);
         const std::string name = "hole-" + std::to_string(::getpid());
         const bool made =
             ::ftruncate(::open(name.c_str(), O_CREAT | O_WRONLY, 0600), off_t(1) << 30) == 0;
         ::unlink(name.c_str());
         return got(made);
       },
       {limit(RLIMIT_FSIZE, 1 << 30, "bytes of a file")}},
      {"many descriptors", many_descriptors, {limit(RLIMIT_NOFILE, 600, "descriptors")}},
      {"a large pipe",
       [](Text, std::string&) {
         int ends[2];
         return got(::pipe(ends) == 0 && ::fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
       },
       {setting("fs/pipe-max-size", 1 << 20, 1LL << 40, CAP_SYS_RESOURCE)}},
  };
}

}  // namespace rollcall::sandbox::attacks
