// Append-only files by POSIX calls.
#include "report/append.hpp"

#include "base/errors/error.hpp"
#include "base/errors/storage_trouble.hpp"
#include "base/files/plain_file.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace rollcall::report {
namespace {

void checked(bool ok, const char* action, const std::filesystem::path& path) {
  if (ok) return;
  const auto [reason, advice] = storage_trouble(errno, path);
  throw StorageError(error_message(fmt::format("cannot {} {}: {}", action, path.string(), reason),
                                   "the run's metrics would have a gap", advice));
}

}  // namespace

int open_append(const std::filesystem::path& path) {
  const int fd = uninterrupted([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  0644);
  });
  checked(fd >= 0, "open", path);
  const std::string kind = what_else(fd);
  if (!kind.empty()) ::close(fd);
  require<StorageError>(kind.empty(), fmt::format("{} is {}", path.string(), kind),
                        "the run's metrics would be lost", "remove it");
  return fd;
}

void append(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    checked(n >= 0, "append to", path);
    bytes.remove_prefix(std::size_t(n));
  }
}

void make_durable(int fd, const std::filesystem::path& path) {
  checked(uninterrupted([&] { return ::fdatasync(fd); }) == 0, "fsync", path);
}

void truncate(int fd, std::uint64_t bytes, const std::filesystem::path& path) {
  checked(uninterrupted([&] { return ::ftruncate(fd, off_t(bytes)); }) == 0, "truncate", path);
}

}  // namespace rollcall::report
