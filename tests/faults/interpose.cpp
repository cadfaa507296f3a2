// Counting, failing and recording of the calls below one folder.
#include "faults/file_calls.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace rollcall::faults {
namespace {

/// Everything behind one lock.
struct State {
  std::recursive_mutex lock;
  std::string root;
  std::vector<Call> calls;
  std::map<std::uint64_t, Site> sites;
  // site 0: the n-th call of all
  std::uint64_t chosen_site = 0, chosen = ~std::uint64_t{0}, later = 0;
  Fault fault = Fault::eio;
  bool from_then_on = false, struck = false, recording = false, noting_sites = false,
       forget_syncs = false;
  void (*when_struck)() = nullptr;
  std::vector<Operation> record;
  // descriptor -> relative path, file number
  std::map<int, std::pair<std::string, std::uint64_t>> open;
};

State& state() {
  static State* const s = new State;  // alive as long as any static object that still closes files
  return *s;
}

/// Where the program itself lies in memory.
const void* program() {
  static const void* base = nullptr;
  if (base == nullptr) {
    const auto first = [](dl_phdr_info* object, std::size_t, void* found) {
      *static_cast<const void**>(found) = reinterpret_cast<const void*>(object->dlpi_addr);
      return 1;
    };
    ::dl_iterate_phdr(first, static_cast<void*>(&base));
  }
  return base;
}

/// From the innermost return addresses in the program itself, as offsets, which do not move from
/// process to process. Those of libraries between them and the call do not count: through HDF5 one
/// line of the program has hundreds of ways to the disk. The last hexadecimal digit is the call.
std::uint64_t site_of(Call call) {
  constexpr int kDepth = 64, kOwn = 5;
  void* frames[kDepth];
  std::uint64_t hash = 14695981039346656037ULL;
  const int depth = ::backtrace(frames, kDepth);
  for (int i = 2, own = 0; i < depth && own < kOwn; ++i) {
    Dl_info facts{};
    if (::dladdr(frames[i], &facts) == 0 || facts.dli_fbase != program()) continue;
    hash = (hash ^ std::uint64_t(static_cast<const char*>(frames[i]) -
                                 static_cast<const char*>(facts.dli_fbase))) *
           1099511628211ULL;
    ++own;
  }
  static_assert(std::size(kCallNames) <= 16);
  return hash << 4U | std::uint64_t(call);
}

void note_opened(int fd, const std::string& path, bool fresh, bool emptied) {
  struct stat facts {};
  ::fstat(fd, &facts);
  state().open[fd] = {path, facts.st_ino};
  if (fresh) note({Operation::Kind::create, path, {}, facts.st_ino, 0, {}});
  else if (emptied) note({Operation::Kind::truncate, path, {}, facts.st_ino, 0, {}});
}

}  // namespace

std::unique_lock<std::recursive_mutex> enter() { return std::unique_lock(state().lock); }

std::string watched(int folder, const char* path) {
  State& s = state();
  if (s.root.empty() || path == nullptr) return {};
  std::string full = path;
  if (path[0] != '/' && folder != AT_FDCWD) {
    const auto known = s.open.find(folder);
    if (known == s.open.end()) return {};
    full = s.root + "/" + known->second.first + "/" + path;
  } else if (path[0] != '/') {
    char here[4096];
    if (::getcwd(here, sizeof here) != nullptr) full = std::string(here) + "/" + path;
  }
  while (full.size() > 1 && full.back() == '/') full.pop_back();
  if (full == s.root) return ".";
  if (full.compare(0, s.root.size() + 1, s.root + "/") != 0) return {};
  std::string relative = full.substr(s.root.size() + 1);
  return relative.compare(0, 2, "./") == 0 ? relative.substr(2) : relative;
}

std::string watched(int fd) {
  const auto known = state().open.find(fd);
  return known == state().open.end() ? std::string() : known->second.first;
}

std::uint64_t number_of(const char* path) {
  struct stat facts {};
  return ::fstatat(AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts.st_ino : 0;
}

std::uint64_t number_of(int fd) {
  const auto known = state().open.find(fd);
  return known == state().open.end() ? 0 : known->second.second;
}

bool forget(int fd) { return state().open.erase(fd) != 0; }

Verdict arrive(Call call) {
  State& s = state();
  std::uint64_t index = s.calls.size();
  s.calls.push_back(call);
  bool here = true;
  if (s.noting_sites) {
    const std::uint64_t site = site_of(call);
    Site& known = s.sites[site];
    known.call = call;
    here = s.chosen_site == 0 || s.chosen_site == site;
    if (s.chosen_site != 0) index = known.calls;
    ++known.calls;
  }
  // A storm of signals interrupts every other call: what is made again succeeds in the end.
  // from a place on, everything
  if (s.struck && s.from_then_on && s.chosen_site != 0) index = s.chosen + ++s.later, here = true;
  const bool again = s.from_then_on && index > s.chosen &&
                     (s.fault != Fault::eintr || (index - s.chosen) % 2 == 0);
  const bool strikes = here && (index == s.chosen || again);
  if (!strikes || !applies(call, s.fault)) return Verdict::go_on;
  if (!s.struck && s.when_struck) s.when_struck();
  s.struck = true;
  switch (s.fault) {
    case Fault::eio: errno = EIO; return Verdict::fail;
    case Fault::enospc: errno = ENOSPC; return Verdict::fail;
    case Fault::eintr: errno = EINTR; return Verdict::fail;
    case Fault::unsupported: errno = call == Call::link ? EPERM : EINVAL; return Verdict::fail;
    case Fault::partial: return Verdict::partial;
  }
  return Verdict::go_on;
}

void note(Operation operation) {
  if (state().recording) state().record.push_back(std::move(operation));
}

int open_watched(int folder, const char* path, int flags, const std::function<int()>& real_open) {
  const std::lock_guard hold(state().lock);
  const std::string name = watched(folder, path);
  if (name.empty()) {
    const int fd = real_open();
    state().open.erase(fd);  // a number whose close we did not see, as closedir() does it
    return fd;
  }
  if (arrive(Call::open) == Verdict::fail) return -1;
  const bool there = ::faccessat(folder, path, F_OK, 0) == 0;
  const int fd = real_open();
  if (fd >= 0) note_opened(fd, name, !there, there && (flags & O_TRUNC) != 0);
  return fd;
}

ssize_t write_watched(int fd, std::size_t size, off_t offset, const void* bytes,
                      const std::function<ssize_t(std::size_t)>& real_write) {
  const std::lock_guard hold(state().lock);
  const std::string name = watched(fd);
  if (name.empty()) return real_write(size);
  const Verdict verdict = arrive(Call::write);
  if (verdict == Verdict::fail) return -1;
  const off_t at = offset >= 0 ? offset : ::lseek(fd, 0, SEEK_CUR);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return -1;
  const off_t begin = offset < 0 && (::fcntl(fd, F_GETFL) & O_APPEND) != 0 ? facts.st_size : at;
  const ssize_t n = real_write(verdict == Verdict::partial ? (size + 1) / 2 : size);
  if (n > 0)
    note({Operation::Kind::write,
          name,
          {},
          facts.st_ino,
          std::uint64_t(begin),
          std::string(static_cast<const char*>(bytes), std::size_t(n))});
  return n;
}

ssize_t read_watched(int fd, std::size_t size,
                     const std::function<ssize_t(std::size_t)>& real_read) {
  const std::lock_guard hold(state().lock);
  if (watched(fd).empty()) return real_read(size);
  const Verdict verdict = arrive(Call::read);
  if (verdict == Verdict::fail) return -1;
  return real_read(verdict == Verdict::partial ? (size + 1) / 2 : size);
}

int sync_watched(int fd, const std::function<int()>& real_sync) {
  const std::lock_guard hold(state().lock);
  const auto known = state().open.find(fd);
  if (known == state().open.end()) return real_sync();
  if (arrive(Call::sync) == Verdict::fail) return -1;
  struct stat facts {};
  ::fstat(fd, &facts);
  if (!state().forget_syncs)
    note({S_ISDIR(facts.st_mode) ? Operation::Kind::sync_folder : Operation::Kind::sync,
          known->second.first,
          {},
          facts.st_ino,
          0,
          {}});
  return 0;  // the record says what would have been durable; the medium of the tests is memory
}

int change(Call call, Operation operation, const std::function<int()>& real_call) {
  const std::lock_guard hold(state().lock);
  if (operation.path.empty() ||
      ((call == Call::rename || call == Call::link) && operation.target.empty()))
    return real_call();
  if (arrive(call) == Verdict::fail) return -1;
  const int result = real_call();
  if (result == 0) note(std::move(operation));
  return result;
}

bool applies(Call call, Fault fault) {
  switch (fault) {
    case Fault::eio: return true;
    case Fault::enospc:
      return call == Call::open || call == Call::write || call == Call::sync ||
             call == Call::rename || call == Call::link || call == Call::mkdir;
    case Fault::eintr:
      return call == Call::open || call == Call::read || call == Call::write ||
             call == Call::sync || call == Call::truncate;
    case Fault::partial: return call == Call::read || call == Call::write;
    case Fault::unsupported: return call == Call::rename || call == Call::link;
  }
  return false;
}

void watch(const std::string& root) {
  const std::lock_guard hold(state().lock);
  state().root = root;
  state().calls.clear(), state().sites.clear(), state().record.clear(), state().open.clear();
  state().chosen = ~std::uint64_t{0}, state().chosen_site = state().later = 0,
  state().struck = state().recording = state().noting_sites = false;
}
void fail(std::uint64_t nth, Fault fault, bool from_then_on) {
  state().chosen = state().calls.size() + nth, state().chosen_site = 0, state().fault = fault,
  state().from_then_on = from_then_on, state().struck = false;
}
void fail_at(std::uint64_t site, std::uint64_t nth, Fault fault, bool from_then_on) {
  note_sites();
  state().chosen = nth, state().chosen_site = site, state().fault = fault,
  state().from_then_on = from_then_on, state().struck = false;
}
bool struck() { return state().struck; }
void when_struck(void (*call)()) { state().when_struck = call; }
std::vector<Call> calls() { return state().calls; }
void note_sites() { state().noting_sites = true; }
std::map<std::uint64_t, Site> sites() { return state().sites; }
void record() { state().recording = true; }
void mark(const std::string& text) { note({Operation::Kind::mark, {}, text, 0, 0, {}}); }
std::vector<Operation> recorded() { return state().record; }
void forget_syncs() { state().forget_syncs = true; }

}  // namespace rollcall::faults
