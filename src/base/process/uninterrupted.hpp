// POSIX calls that a signal may interrupt, and the file descriptors they work on.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace rollcall {

/// Repeats a call as long as a signal interrupts it.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Owns an open file. It is negative if the file could not be opened, with errno set.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0)
      : fd_(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }
  /// Closes the file now, so that an error that the file system reports at closing is seen. Linux
  /// frees the descriptor in any case, so EINTR is no failure.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR; }

 private:
  int fd_;
};

}  // namespace rollcall
