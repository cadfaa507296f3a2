// Sends a signal to one thread. Its handler only fills an array of addresses; the asking thread
// finds their names.
#include "base/process/thread_stack.hpp"

#include "base/process/symbol.hpp"
#include "base/time/clock.hpp"

#include <execinfo.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace rollcall {
namespace {

constexpr double kPatience_s = 0.5;  // a thread that computes answers within microseconds; the node
                                     // may be busy
constexpr int kDeepest = 128;

// Shared by the handler and the asking thread. Each question has a number: `asked` holds it until
// the handler takes it, and `answered` holds it once the frames are there.
std::atomic<int> asked = 0, answered = 0;
static_assert(std::atomic<int>::is_always_lock_free);
std::array<void*, kDeepest> frames;
int depth = 0;
void* interrupted_at = nullptr;

int look_signal() { return SIGRTMAX - 6; }  // libraries that use one take the first or the last

void* program_counter(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(machine.pc);
#else
  return static_cast<void>(machine), nullptr;
#endif
}

void answer(int, siginfo_t* signal, void* context) {
  const int kept = errno, number = signal->si_value.sival_int;
  int expected = number;
  if (signal->si_code == SI_QUEUE && number != 0 && asked.compare_exchange_strong(expected, 0)) {
    depth = ::backtrace(frames.data(), kDeepest);
    interrupted_at = program_counter(context);
    answered.store(number);
  }
  errno = kept;
}

bool wait_for_answer(int number) {
  const Stopwatch clock;
  while (answered.load() != number) {
    if (clock.seconds() > kPatience_s) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// Makes the thread fill `frames`. Returns false if the thread does not answer.
bool ask(int thread) {
  static int last = 0;
  // Whether a handler began and did not end, so `frames` belongs to it for good.
  static bool lost = false;
  if (lost) return false;
  const int number = last = last % 1'000'000 + 1;
  siginfo_t question = {};
  question.si_signo = look_signal(), question.si_code = SI_QUEUE;
  question.si_pid = ::getpid(), question.si_uid = ::getuid();
  question.si_value.sival_int = number;
  asked = number;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, look_signal(), &question) != 0)
    return asked = 0, false;
  if (wait_for_answer(number)) return true;
  int expected = number;
  // if the handler runs later, it finds nothing to do
  if (asked.compare_exchange_strong(expected, 0)) return false;
  lost = !wait_for_answer(number);
  return !lost;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  return text;
}

std::filesystem::path folder_of(int thread) {
  return std::filesystem::path("/proc/self/task") / std::to_string(thread);
}

/// The letter of a thread's state in /proc: 'R', 'S', 'D', ...; 0 if the thread is gone.
char state_letter(int thread) {
  const std::string stat = content(folder_of(thread) / "stat");
  const auto name_end = stat.rfind(") ");  // a name may contain anything
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? char(0)
                                                                      : stat[name_end + 2];
}

struct KernelCall {
  long number;
  const char* name;
  bool rests;
};

constexpr KernelCall kCalls[] = {
    {SYS_futex, "futex", true},
    {SYS_ppoll, "ppoll", true},
    {SYS_pselect6, "pselect", true},
    {SYS_epoll_pwait, "epoll_wait", true},
    {SYS_nanosleep, "nanosleep", true},
    {SYS_clock_nanosleep, "clock_nanosleep", true},
    {SYS_rt_sigtimedwait, "sigtimedwait", true},
    {SYS_rt_sigsuspend, "sigsuspend", true},
#ifdef SYS_poll  // older machines have these in addition to the ones above
    {SYS_poll, "poll", true},
    {SYS_select, "select", true},
    {SYS_epoll_wait, "epoll_wait", true},
    {SYS_pause, "pause", true},
    {SYS_open, "open", false},
    {SYS_stat, "stat", false},
    {SYS_rename, "rename", false},
    {SYS_mkdir, "mkdir", false},
    {SYS_unlink, "unlink", false},
#endif
    {SYS_read, "read", false},
    {SYS_write, "write", false},
    {SYS_pread64, "pread", false},
    {SYS_pwrite64, "pwrite", false},
    {SYS_readv, "readv", false},
    {SYS_writev, "writev", false},
    {SYS_openat, "openat", false},
    {SYS_close, "close", false},
    {SYS_fsync, "fsync", false},
    {SYS_fdatasync, "fdatasync", false},
    {SYS_flock, "flock", false},
    {SYS_fcntl, "fcntl", false},
    {SYS_newfstatat, "stat", false},
    {SYS_fstat, "fstat", false},
    {SYS_statx, "statx", false},
    {SYS_getdents64, "getdents", false},
    {SYS_renameat2, "rename", false},
    {SYS_unlinkat, "unlink", false},
    {SYS_ftruncate, "ftruncate", false},
    {SYS_recvmsg, "recvmsg", false},
    {SYS_recvfrom, "recvfrom", false},
    {SYS_sendmsg, "sendmsg", false},
    {SYS_connect, "connect", false},
    {SYS_wait4, "wait4", false},
    {SYS_ioctl, "ioctl", false},
    {SYS_munmap, "munmap", false},
    {SYS_mmap, "mmap", false},
    {SYS_madvise, "madvise", false},
};

/// Number of the system call that a thread is in; -1 if it is in none or if that is unknown.
long kernel_call(int thread) {
  const std::string text = content(folder_of(thread) / "syscall");
  return text.empty() || text.front() < '0' || text.front() > '9'
             ? -1
             : std::strtol(text.c_str(), nullptr, 10);
}

std::string state_of(int thread) {
  const char letter = state_letter(thread);
  if (letter == 0 || letter == 'Z' || letter == 'X') return "gone";
  if (letter == 'R') return "running";
  const long call = kernel_call(thread);
  const auto* const known = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [&](const KernelCall& one) { return one.number == call; });
  const std::string where = content(folder_of(thread) / "wchan");
  const std::string name = known != std::end(kCalls) ? fmt::format("in {}", known->name)
                           : call >= 0               ? fmt::format("in system call {}", call)
                                                     : "in the kernel";
  const bool is_known =
      !where.empty() && where != "0" && (known == std::end(kCalls) || letter == 'D');
  return name + (letter == 'D' ? ", not to be interrupted" : "") +
         (is_known ? fmt::format(" ({})", where) : "");
}

/// Whether a function only starts threads or passes calls on, and so says nothing.
bool is_plumbing(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames{
      "__libc_start", "_start", "start_thread", "clone", "__clone", "std::_Function_handler<>"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

/// Shortens the calls within libraries, which would hide which function of Rollcall made them. The
/// first few show what the library is doing.
std::vector<std::string> without_detours(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const auto is_foreign = [](const std::string& name) {
    return name != "main" && name.find("rollcall::") == std::string::npos;
  };
  std::vector<std::string> kept;
  // the functions that started the thread are of no interest
  const auto own_end = std::find_if_not(names.rbegin(), names.rend(), is_foreign).base();
  const auto end = own_end == names.begin() ? names.end() : own_end;
  for (auto name = names.begin(); name != end;) {
    const auto next = is_foreign(*name) ? std::find_if_not(name, end, is_foreign) : name + 1;
    const auto shown = std::min<std::ptrdiff_t>(next - name, kShown);
    kept.insert(kept.end(), name, name + shown);
    if (next - name == shown + 1) kept.push_back(*(next - 1));
    else if (next - name > shown)
      kept.push_back(fmt::format("({} more of libraries)", next - name - shown));
    name = next;
  }
  return kept;
}

}  // namespace

int own_thread() { return int(::syscall(SYS_gettid)); }

void prepare_to_look() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::array<void*, 4> some{};
    ::backtrace(some.data(), int(some.size()));  // the first call loads a library and allocates
    struct sigaction action = {};
    action.sa_sigaction = answer;
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(look_signal(), &action, nullptr);
  });
}

ThreadView look_at_thread(int thread, std::size_t most_frames) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  ThreadView view{.state = state_of(thread), .frames = {}};
  if (view.state == "gone" || !ask(thread)) return view;
  const auto* const begin = frames.begin();
  const auto* const end = begin + depth;
  const auto* first = std::find(begin, end, interrupted_at);
  const bool known = first != end;
  if (!known)
    first = std::min(begin + 2, end);  // skips the handler and the kernel's return from it
  Symbols symbols;
  for (const auto* frame = first; frame != end; ++frame) {
    const auto address = reinterpret_cast<std::uintptr_t>(*frame);
    // Later frames are return addresses, which may be after the last byte of the calling function.
    const bool exact = known && frame == first;
    std::string name = symbols.name(exact ? address : address - 1);
    const bool outermost = name == "main";
    if (!is_plumbing(name)) view.frames.push_back(std::move(name));
    if (outermost) break;
  }
  view.frames = without_detours(view.frames);
  view.frames.resize(std::min(view.frames.size(), most_frames));
  return view;
}

std::vector<int> busy_threads() {
  std::vector<int> busy;
  std::error_code ec;
  std::filesystem::directory_iterator entry("/proc/self/task", ec);
  for (; !ec && entry != std::filesystem::directory_iterator(); entry.increment(ec)) {
    const int thread = std::atoi(entry->path().filename().c_str());
    const char letter = state_letter(thread);
    const long call = letter == 'R' ? -1 : kernel_call(thread);
    const bool rests =
        letter == 'S' &&
        (call < 0 || std::any_of(std::begin(kCalls), std::end(kCalls),
                                 [&](const KernelCall& c) { return c.number == call && c.rests; }));
    if (letter != 0 && letter != 'Z' && letter != 'X' && !rests) busy.push_back(thread);
  }
  std::sort(busy.begin(), busy.end());
  return busy;
}

}  // namespace rollcall
