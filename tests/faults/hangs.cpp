// Preloaded, it holds one rank where it opens a file of a certain name for the first time, or where
// its main thread calls the worker threads for the first time after it has sent or received a
// message with that name, until it is released through a pipe.
//   ROLLCALL_HANG        "KIND RANK NAME": the name is part of the path, and ends in .partial just
//   as the path does; after:NAME is the message's; KIND is
//                          stop     the process stops itself (SIGSTOP)
//                          loop     the thread computes for ever
//                          read     the thread reads from the pipe
//                          worker   from then on, the first thread other than the main one that
//                          allocates as LibTorch does computes for ever
//   ROLLCALL_HANG_PIPE   a named pipe; a byte in it is the release, also of the loops
// The file "<pipe>.began" is made when it begins to hang.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

namespace {

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Of this process; 0 also where there is no launcher.
int rank_in_job() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return 0;
}

struct Plan {
  std::string kind, name, pipe = variable("ROLLCALL_HANG_PIPE");
  int rank = -1;
  bool messages = false;
  int tag = -1, turn = 0;  ///< messages of this tag, the turn-th of which is meant
  struct {
    const void* bytes = nullptr;
    std::size_t count = 0;
    void** request = nullptr;
    int tag = -1;
  } arriving{};  ///< the message of which MPI_Test will tell
  std::atomic<bool> told = false, reached = false, armed = false;
  Plan() {
    std::istringstream(variable("ROLLCALL_HANG")) >> kind >> rank >> name;
    constexpr std::string_view kAfter = "after:";
    messages = name.starts_with(kAfter);
    if (messages) std::sscanf(name.c_str(), "after:%d:%d", &tag, &turn);
  }
};
Plan& plan() {
  static Plan p;
  return p;
}

int real_open(const char* path, int flags) {
  static const auto call_real = real<int (*)(const char*, int, ...)>("open");
  return call_real(path, flags, 0644);
}

/// Opened for both ends, so that nobody has to be at the other.
int open_pipe() {
  ::close(real_open((plan().pipe + ".began").c_str(), O_WRONLY | O_CREAT));
  return real_open(plan().pipe.c_str(), O_RDWR | O_CLOEXEC);
}

/// Not in the way of the other programs of a small machine.
__attribute__((noinline)) void computes_for_ever() {
  ::setpriority(PRIO_PROCESS, id_t(::syscall(SYS_gettid)), 19);
  pollfd pipe{open_pipe(), POLLIN, 0};
  for (volatile unsigned long turn = 1; turn % 100'000'000 != 0 || ::poll(&pipe, 1, 0) <= 0;) {
    const unsigned long next = turn + 1;
    turn = next;
  }
  ::close(pipe.fd);
}

__attribute__((noinline)) void reads_for_ever() {
  const int pipe = open_pipe();
  char byte = 0;
  if (::read(pipe, &byte, 1) != 1) std::abort();
  ::close(pipe);
}

bool is_meant(std::string_view path) {
  constexpr std::string_view kWritten = ".partial";
  return path.find(plan().name) != std::string_view::npos &&
         path.ends_with(kWritten) == std::string_view(plan().name).ends_with(kWritten);
}

__attribute__((noinline)) void hang() {
  Plan& p = plan();
  if (p.reached.exchange(true)) return;
  if (p.kind == "loop") computes_for_ever();
  if (p.kind == "read") reads_for_ever();
  if (p.kind == "worker") p.armed = true;
  if (p.kind != "stop") return;
  ::usleep(600'000);  // what it is at is written by then
  ::close(open_pipe());
  ::kill(::getpid(), SIGSTOP);
}

void may_hang(const char* path) {
  Plan& p = plan();
  if (p.rank != rank_in_job() || path == nullptr || !is_meant(path)) return;
  if (!p.messages) hang();
}

/// Whether a message of this rank is the one that is waited for.
bool is_meant(int tag) {
  Plan& p = plan();
  return p.messages && p.rank == rank_in_job() && tag == p.tag && --p.turn == 0;
}

}  // namespace

extern "C" {

#define OPEN(name)                                                             \
  int name(const char* path, int flags, ...) {                                 \
    static const auto call_real = real<int (*)(const char*, int, ...)>(#name); \
    mode_t mode = 0;                                                           \
    if ((flags & O_CREAT) != 0) {                                              \
      va_list more;                                                            \
      va_start(more, flags);                                                   \
      mode = va_arg(more, mode_t);                                             \
      va_end(more);                                                            \
    }                                                                          \
    may_hang(path);                                                            \
    return call_real(path, flags, mode);                                       \
  }
OPEN(open)
OPEN(open64)

/// As Open MPI has it, whose status begins with source and tag.
int MPI_Improbe(int source, int tag, void* communicator, int* found, void** message, void* status) {
  static const auto call_real = real<int (*)(int, int, void*, int*, void**, void*)>("MPI_Improbe");
  const int result = call_real(source, tag, communicator, found, message, status);
  if (*found != 0) plan().arriving.tag = static_cast<const int*>(status)[1];
  return result;
}

/// As Open MPI has it, whose handles are pointers. Receives are as MpiCommunicator's: one message
/// at a time, and one request until it has come.
int MPI_Imrecv(void* bytes, int count, void* type, void** message, void** request) {
  static const auto call_real = real<int (*)(void*, int, void*, void**, void**)>("MPI_Imrecv");
  plan().arriving = {bytes, std::size_t(count), request, plan().arriving.tag};
  return call_real(bytes, count, type, message, request);
}

int MPI_Test(void** request, int* done, void* status) {
  static const auto call_real = real<int (*)(void**, int*, void*)>("MPI_Test");
  Plan& p = plan();
  const bool arrives = request == p.arriving.request;
  const int result = call_real(request, done, status);
  if (arrives && *done != 0) {
    if (is_meant(p.arriving.tag)) p.told = true;
    p.arriving = {};
  }
  return result;
}

int MPI_Isend(const void* bytes, int count, void* type, int to, int tag, void* communicator,
              void** request) {
  static const auto call_real =
      real<int (*)(const void*, int, void*, int, int, void*, void**)>("MPI_Isend");
  if (to == 1 && is_meant(tag)) plan().told = true;  // once a step, to one of the others
  return call_real(bytes, count, type, to, tag, communicator, request);
}

/// std::condition_variable::notify_all
void _ZNSt18condition_variable10notify_allEv(void* own) {
  static const auto call_real = real<void (*)(void*)>("_ZNSt18condition_variable10notify_allEv");
  if (plan().told && ::gettid() == ::getpid()) hang();
  call_real(own);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  static const auto call_real = real<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  if (plan().armed && ::syscall(SYS_gettid) != ::getpid() && plan().armed.exchange(false))
    computes_for_ever();
  return call_real(memory, alignment, size);
}

}  // extern "C"
