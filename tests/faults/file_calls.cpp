// The file calls of the C library, each a question to interpose.cpp and then itself. Linked in
// front of it, or preloaded. (long: one function a call)
#include "faults/file_calls.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto call_real = real<decltype(&::name)>(#name)

}  // namespace

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
FILE* fopen_watched(const char* path, const char* mode,
                    FILE* (*call_real)(const char*, const char*)) {
  FILE* file = nullptr;
  const int flags = std::strchr(mode, 'w') != nullptr ? O_TRUNC : 0;
  open_watched(AT_FDCWD, path, flags, [&] {
    file = call_real(path, mode);
    return file == nullptr ? -1 : ::fileno(file);
  });
  return file;
}
FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  return fopen_watched(path, mode, call_real);
}
FILE* fopen64(const char* path, const char* mode) {
  REAL(fopen64);
  return fopen_watched(path, mode, call_real);
}
int fclose(FILE* file) {  // libstdc++ writes by write() and keeps nothing in the FILE
  REAL(fclose);
  const auto hold = enter();
  if (!forget(::fileno(file))) return call_real(file);
  const Verdict verdict = arrive(Call::close);
  const int error = errno;
  const int result = call_real(file);
  if (verdict != Verdict::fail) return result;
  errno = error;
  return EOF;
}
DIR* opendir(const char* path) {
  REAL(opendir);
  const auto hold = enter();
  if (!watched(AT_FDCWD, path).empty() && arrive(Call::open) == Verdict::fail) return nullptr;
  return call_real(path);
}
int close(int fd) {
  REAL(close);
  const auto hold = enter();
  if (!forget(fd)) return call_real(fd);
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
  return write_watched(fd, size, offset, bytes,
                       [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  REAL(pwrite64);
  return write_watched(fd, size, offset, bytes,
                       [&](size_t n) { return call_real(fd, bytes, n, offset); });
}
// as one write after the other: the caller has to cope with less than it asked for
ssize_t writev(int fd, const struct iovec* parts, int count) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return sum > 0 ? sum : n;
    sum += n;
    if (std::size_t(n) < parts[i].iov_len) break;
  }
  return sum;
}
ssize_t readv(int fd, const struct iovec* parts, int count) {
  REAL(readv);
  // half of the parts
  return read_watched(fd, std::size_t(count),
                      [&](size_t n) { return call_real(fd, parts, int(n)); });
}
ssize_t preadv(int fd, const struct iovec* parts, int count, off_t offset) {
  REAL(preadv);
  return read_watched(fd, std::size_t(count),
                      [&](size_t n) { return call_real(fd, parts, int(n), offset); });
}
ssize_t preadv64(int fd, const struct iovec* parts, int count, off64_t offset) {
  return preadv(fd, parts, count, offset);
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t n = pwrite(fd, parts[i].iov_base, parts[i].iov_len, offset + sum);
    if (n < 0) return sum > 0 ? sum : n;
    sum += n;
    if (std::size_t(n) < parts[i].iov_len) break;
  }
  return sum;
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
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
  return change(
      Call::truncate,
      {Operation::Kind::truncate, watched(fd), {}, number_of(fd), std::uint64_t(length), {}},
      [&] { return call_real(fd, length); });
}
int posix_fallocate(int fd, off_t offset, off_t length) {  // its error is its result
  REAL(posix_fallocate);
  const auto hold = enter();
  const std::string name = watched(fd);
  if (name.empty()) return call_real(fd, offset, length);
  if (arrive(Call::write) == Verdict::fail) return errno;
  struct stat facts {};
  ::fstat(fd, &facts);
  const int error = call_real(fd, offset, length);
  if (error == 0 && offset + length > facts.st_size)
    note({Operation::Kind::truncate, name, {}, facts.st_ino, std::uint64_t(offset + length), {}});
  return error;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return posix_fallocate(fd, offset, length);
}
int ftruncate64(int fd, off64_t length) noexcept { return ftruncate(fd, length); }
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return change(Call::rename,
                {Operation::Kind::rename, watched(AT_FDCWD, from), watched(AT_FDCWD, to), 0, 0, {}},
                [&] { return call_real(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  REAL(renameat2);
  const auto kind =
      (flags & RENAME_EXCHANGE) != 0 ? Operation::Kind::exchange : Operation::Kind::rename;
  return change(Call::rename, {kind, watched(from_folder, from), watched(to_folder, to), 0, 0, {}},
                [&] { return call_real(from_folder, from, to_folder, to, flags); });
}
int link(const char* from, const char* to) noexcept {
  REAL(link);
  return change(Call::link,
                {Operation::Kind::link,
                 watched(AT_FDCWD, from),
                 watched(AT_FDCWD, to),
                 number_of(from),
                 0,
                 {}},
                [&] { return call_real(from, to); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return change(Call::mkdir, {Operation::Kind::mkdir, watched(AT_FDCWD, path), {}, 0, 0, {}},
                [&] { return call_real(path, mode); });
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return change(Call::unlink, {Operation::Kind::unlink, watched(AT_FDCWD, path), {}, 0, 0, {}},
                [&] { return call_real(path); });
}
int rmdir(const char* path) noexcept {
  REAL(rmdir);
  return change(Call::unlink, {Operation::Kind::rmdir, watched(AT_FDCWD, path), {}, 0, 0, {}},
                [&] { return call_real(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  REAL(unlinkat);
  const auto kind = (flags & AT_REMOVEDIR) != 0 ? Operation::Kind::rmdir : Operation::Kind::unlink;
  return change(Call::unlink, {kind, watched(folder, path), {}, 0, 0, {}},
                [&] { return call_real(folder, path, flags); });
}
int remove(const char* path) noexcept {
  struct stat facts {};
  return ::fstatat(AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(facts.st_mode)
             ? rmdir(path)
             : unlink(path);
}

// What asks about a file. LibTorch brings its own std::filesystem, which knows stat() by the names
// of an older C library.
#define LOOK(name, declared, path, passed)                                                  \
  int name declared noexcept {                                                              \
    REAL(name);                                                                             \
    const auto hold = enter();                                                              \
    if (!watched(AT_FDCWD, path).empty() && arrive(Call::look) == Verdict::fail) return -1; \
    return call_real passed;                                                                \
  }
LOOK(stat, (const char* path, struct stat* facts), path, (path, facts))
LOOK(stat64, (const char* path, struct stat64* facts), path, (path, facts))
LOOK(lstat, (const char* path, struct stat* facts), path, (path, facts))
LOOK(lstat64, (const char* path, struct stat64* facts), path, (path, facts))
LOOK(access, (const char* path, int mode), path, (path, mode))
int __xstat(int, const char* path, struct stat* facts) { return stat(path, facts); }
int __xstat64(int, const char* path, struct stat64* facts) { return stat64(path, facts); }
int __lxstat(int, const char* path, struct stat* facts) { return lstat(path, facts); }
int __lxstat64(int, const char* path, struct stat64* facts) { return lstat64(path, facts); }

}  // extern "C"
