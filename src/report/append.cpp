// POSIX calls behind append-only files.
#include "report/append.hpp"

#include "base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rollcall::report {
namespace {

void checked(bool ok, const char* action, const std::filesystem::path& path) {
  require<StorageError>(ok, fmt::format("cannot {} {}: {}", action, path.string(), std::strerror(errno)), "the run's metrics would have a hole",
                        "check free space, quota and permissions");
}

}  // namespace

int open_append(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  checked(fd >= 0, "open", path);
  return fd;
}

void append(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    checked(n >= 0, "append to", path);
    bytes.remove_prefix(std::size_t(n));
  }
}

void make_durable(int fd, const std::filesystem::path& path) { checked(::fdatasync(fd) == 0, "fsync", path); }

void truncate(int fd, std::uint64_t bytes, const std::filesystem::path& path) { checked(::ftruncate(fd, off_t(bytes)) == 0, "truncate", path); }

}  // namespace rollcall::report
