// Starts the processes of a verifier's command, and ends them with all that they have started.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace rollcall::reward {

/// A file descriptor that is closed with its owner; -1: none.
class Pipe {
 public:
  Pipe() = default;
  explicit Pipe(int fd) : fd_(fd) {}
  Pipe(Pipe&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Pipe& operator=(Pipe&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Pipe();
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// A started process: the leader of a group of its own. The ends here do not block.
struct Child {
  pid_t pid = -1;
  Pipe in, out, err;  ///< its standard input, output and error
};

/// A small process of its own, forked while this one is small: before MPI, LibTorch, threads and
/// whatever else a fork would copy or break. It starts each command in a process group, adopts what
/// escapes from there, and ends all of it on request, or when this process ends in whatever way.
/// For commands that are trusted: they run as this user, with all that this user may do. One thread
/// at a time.
class Spawner {
 public:
  Spawner();  ///< throws EnvironmentError
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Found along PATH as execvp does, in the folder where the job was started. Throws
  /// EnvironmentError: it is missing or not executable.
  Child start(const std::vector<std::string>& command);
  /// Ends the process and all its descendants with SIGKILL. Returns how it had ended by itself, for
  /// which it may take `grace_ms`: "ended with status 1", "was ended by signal 11 (Segmentation
  /// fault)"; empty where it was still running.
  std::string end(pid_t pid, int grace_ms = 0);

 private:
  int socket_;
  pid_t pid_;
};

}  // namespace rollcall::reward
