// The file calls of the C library, counted, failed and recorded below one folder. Linked in front of it, or preloaded. (long: one function a call)
#include "faults/interpose.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace rollcall::faults {
namespace {

/// Everything behind one lock; the programs under test do their I/O from one thread at a time, but for the removal of packed shards.
struct State {
  std::recursive_mutex lock;
  std::string root;
  std::vector<Call> calls;
  std::set<std::uint64_t> sites;
  std::uint64_t chosen = ~std::uint64_t{0};
  Fault fault = Fault::eio;
  bool from_then_on = false, struck = false, recording = false, forget_syncs = false;
  std::vector<Operation> record;
  std::map<int, std::pair<std::string, std::uint64_t>> open;  // descriptor -> relative path, file number
};

State& state() {
  static State* const s = new State;  // alive as long as any static object that still closes files
  return *s;
}

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto call_real = real<decltype(&::name)>(#name)

/// Relative to the root; empty outside of it ("." for the root itself).
std::string watched(int folder, const char* path) {
  State& s = state();
  if (s.root.empty() || path == nullptr) return {};
  std::string full = path;
  if (path[0] != '/' && folder != AT_FDCWD) {
    const auto known = s.open.find(folder);
    if (known == s.open.end()) return {};
    full = s.root + "/" + known->second.first + "/" + path;
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
  return ::lstat(path, &facts) == 0 ? facts.st_ino : 0;
}

void note_site(Call call) {
  constexpr int kDepth = 12;
  void* frames[kDepth];
  std::uint64_t hash = 14695981039346656037ULL + std::uint64_t(call);
  const int depth = ::backtrace(frames, kDepth);
  for (int i = 2; i < depth; ++i) hash = (hash ^ std::uint64_t(reinterpret_cast<std::uintptr_t>(frames[i]))) * 1099511628211ULL;
  state().sites.insert(hash);
}

enum class Verdict { go_on, fail, partial };

/// Counts the call and says whether it is to fail, with errno set.
Verdict arrive(Call call) {
  State& s = state();
  const std::uint64_t index = s.calls.size();
  s.calls.push_back(call);
  if (s.recording) note_site(call);
  // A storm of signals interrupts every other call: what is made again succeeds in the end.
  const bool again = s.from_then_on && index > s.chosen && (s.fault != Fault::eintr || (index - s.chosen) % 2 == 0);
  const bool strikes = index == s.chosen || again;
  if (!strikes || !applies(call, s.fault)) return Verdict::go_on;
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

void note_opened(int fd, const std::string& path, bool fresh, bool emptied) {
  struct stat facts {};
  ::fstat(fd, &facts);
  state().open[fd] = {path, facts.st_ino};
  if (fresh) note({Operation::Kind::create, path, {}, facts.st_ino, 0, {}});
  else if (emptied) note({Operation::Kind::truncate, path, {}, facts.st_ino, 0, {}});
}

template <class RealOpen>
int open_watched(int folder, const char* path, int flags, const RealOpen& real_open) {
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

template <class RealWrite>
ssize_t write_watched(int fd, std::size_t size, off_t offset, const void* bytes, const RealWrite& real_write) {
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
  if (n > 0) note({Operation::Kind::write, name, {}, facts.st_ino, std::uint64_t(begin), std::string(static_cast<const char*>(bytes), std::size_t(n))});
  return n;
}

template <class RealRead>
ssize_t read_watched(int fd, std::size_t size, const RealRead& real_read) {
  const std::lock_guard hold(state().lock);
  if (watched(fd).empty()) return real_read(size);
  const Verdict verdict = arrive(Call::read);
  if (verdict == Verdict::fail) return -1;
  return real_read(verdict == Verdict::partial ? (size + 1) / 2 : size);
}

template <class RealSync>
int sync_watched(int fd, const RealSync& real_sync) {
  const std::lock_guard hold(state().lock);
  const auto known = state().open.find(fd);
  if (known == state().open.end()) return real_sync();
  if (arrive(Call::sync) == Verdict::fail) return -1;
  struct stat facts {};
  ::fstat(fd, &facts);
  if (!state().forget_syncs)
    note({S_ISDIR(facts.st_mode) ? Operation::Kind::sync_folder : Operation::Kind::sync, known->second.first, {}, facts.st_ino, 0, {}});
  return 0;  // the record says what would have been durable; the medium of the tests is memory
}

template <class RealCall>
int change(Call call, Operation operation, const RealCall& real_call) {
  const std::lock_guard hold(state().lock);
  if (operation.path.empty() || ((call == Call::rename || call == Call::link) && operation.target.empty())) return real_call();
  if (arrive(call) == Verdict::fail) return -1;
  const int result = real_call();
  if (result == 0) note(std::move(operation));
  return result;
}

int rename_watched(int from_folder, const char* from, int to_folder, const char* to, bool exchange, const auto& real_call) {
  return change(Call::rename, {exchange ? Operation::Kind::exchange : Operation::Kind::rename, watched(from_folder, from), watched(to_folder, to), 0, 0, {}},
                real_call);
}

}  // namespace

bool applies(Call call, Fault fault) {
  switch (fault) {
    case Fault::eio: return true;
    case Fault::enospc:
      return call == Call::open || call == Call::write || call == Call::sync || call == Call::rename || call == Call::link || call == Call::mkdir;
    case Fault::eintr: return call == Call::open || call == Call::read || call == Call::write || call == Call::sync || call == Call::truncate;
    case Fault::partial: return call == Call::read || call == Call::write;
    case Fault::unsupported: return call == Call::rename || call == Call::link;
  }
  return false;
}

void watch(const std::string& root) {
  const std::lock_guard hold(state().lock);
  state().root = root;
  state().calls.clear(), state().sites.clear(), state().record.clear(), state().open.clear();
  state().chosen = ~std::uint64_t{0}, state().struck = state().recording = false;
}
void fail(std::uint64_t nth, Fault fault, bool from_then_on) {
  state().chosen = state().calls.size() + nth, state().fault = fault, state().from_then_on = from_then_on, state().struck = false;
}
bool struck() { return state().struck; }
std::vector<Call> calls() { return state().calls; }
std::uint64_t sites() { return state().sites.size(); }
void record() { state().recording = true; }
void mark(const std::string& text) { note({Operation::Kind::mark, {}, text, 0, 0, {}}); }
std::vector<Operation> recorded() { return state().record; }
void forget_syncs() { state().forget_syncs = true; }

}  // namespace rollcall::faults

using namespace rollcall::faults;

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  REAL(open);
  return open_watched(AT_FDCWD, path, flags, [&] { return call_real(path, flags, mode); });
}
int open64(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  REAL(open64);
  return open_watched(AT_FDCWD, path, flags, [&] { return call_real(path, flags, mode); });
}
int openat(int folder, const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  REAL(openat);
  return open_watched(folder, path, flags, [&] { return call_real(folder, path, flags, mode); });
}
int close(int fd) {
  REAL(close);
  const std::lock_guard hold(state().lock);
  if (state().open.erase(fd) == 0) return call_real(fd);
  const Verdict verdict = arrive(Call::close);
  const int error = errno;
  const int result = call_real(fd);  // Linux frees the number in any case
  if (verdict != Verdict::fail) return result;
  errno = error;
  return -1;
}
ssize_t read(int fd, void* bytes, size_t size) {
  REAL(read);
  return read_watched(fd, size, [&](size_t n) { return call_real(fd, bytes, n); });
}
ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  REAL(pread);
  return read_watched(fd, size, [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
ssize_t pread64(int fd, void* bytes, size_t size, off64_t offset) {
  REAL(pread64);
  return read_watched(fd, size, [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
ssize_t write(int fd, const void* bytes, size_t size) {
  REAL(write);
  return write_watched(fd, size, -1, bytes, [&](size_t n) { return call_real(fd, bytes, n); });
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  REAL(pwrite);
  return write_watched(fd, size, offset, bytes, [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  REAL(pwrite64);
  return write_watched(fd, size, offset, bytes, [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
ssize_t writev(int fd, const struct iovec* parts, int count) {  // as one write after the other: the caller has to cope with less than it asked for
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return sum > 0 ? sum : n;
    sum += n;
    if (std::size_t(n) < parts[i].iov_len) break;
  }
  return sum;
}
int fsync(int fd) {
  REAL(fsync);
  return sync_watched(fd, [&] { return call_real(fd); });
}
int fdatasync(int fd) {
  REAL(fdatasync);
  return sync_watched(fd, [&] { return call_real(fd); });
}
int ftruncate(int fd, off_t length) noexcept {
  REAL(ftruncate);
  return change(Call::truncate, {Operation::Kind::truncate, watched(fd), {}, watched(fd).empty() ? 0 : state().open[fd].second, std::uint64_t(length), {}},
                [&] { return call_real(fd, length); });
}
int posix_fallocate(int fd, off_t offset, off_t length) {  // its error is its result
  REAL(posix_fallocate);
  const std::lock_guard hold(state().lock);
  const std::string name = watched(fd);
  if (name.empty()) return call_real(fd, offset, length);
  if (arrive(Call::write) == Verdict::fail) return errno;
  struct stat facts {};
  ::fstat(fd, &facts);
  const int error = call_real(fd, offset, length);
  if (error == 0 && offset + length > facts.st_size) note({Operation::Kind::truncate, name, {}, facts.st_ino, std::uint64_t(offset + length), {}});
  return error;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return posix_fallocate(fd, offset, length); }
int ftruncate64(int fd, off64_t length) noexcept { return ftruncate(fd, length); }
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return rename_watched(AT_FDCWD, from, AT_FDCWD, to, false, [&] { return call_real(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  REAL(renameat2);
  return rename_watched(from_folder, from, to_folder, to, (flags & RENAME_EXCHANGE) != 0, [&] { return call_real(from_folder, from, to_folder, to, flags); });
}
int link(const char* from, const char* to) noexcept {
  REAL(link);
  return change(Call::link, {Operation::Kind::link, watched(AT_FDCWD, from), watched(AT_FDCWD, to), number_of(from), 0, {}},
                [&] { return call_real(from, to); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return change(Call::mkdir, {Operation::Kind::mkdir, watched(AT_FDCWD, path), {}, 0, 0, {}}, [&] { return call_real(path, mode); });
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return change(Call::unlink, {Operation::Kind::unlink, watched(AT_FDCWD, path), {}, 0, 0, {}}, [&] { return call_real(path); });
}
int rmdir(const char* path) noexcept {
  REAL(rmdir);
  return change(Call::unlink, {Operation::Kind::rmdir, watched(AT_FDCWD, path), {}, 0, 0, {}}, [&] { return call_real(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  REAL(unlinkat);
  const auto kind = (flags & AT_REMOVEDIR) != 0 ? Operation::Kind::rmdir : Operation::Kind::unlink;
  return change(Call::unlink, {kind, watched(folder, path), {}, 0, 0, {}}, [&] { return call_real(folder, path, flags); });
}
int remove(const char* path) noexcept {
  struct stat facts {};
  return ::lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? rmdir(path) : unlink(path);
}

}  // extern "C"
