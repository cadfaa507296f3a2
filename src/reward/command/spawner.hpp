// Starts the processes of a command, and ends each with all processes that it has
// started.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace rollcall::reward {

/// A file descriptor that is closed with its owner; -1 means no descriptor.
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

/// A started process, which leads its own process group. The ends of pipes here do not block.
struct Child {
  pid_t pid = -1;
  Pipe in, out, err;  ///< the process's standard input, output and error
};

/// Controls a small process, forked while this one is small: before MPI, LibTorch, threads and
/// anything else that a fork would copy or break. That process starts each command in a process
/// group, adopts processes that leave the group, and ends all of them on request, or when this
/// process ends in any way. It is meant for trusted commands, which run with all rights of this
/// user. Only one thread may use it at a time.
class Spawner {
 public:
  /// `key`: the run file's key, for messages. Throws EnvironmentError.
  explicit Spawner(std::string key = "reward.command");
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Starts a command, found along PATH as execvp does, in the folder that the job was started in.
  /// Throws EnvironmentError if it is missing or not executable.
  Child start(const std::vector<std::string>& command);
  /// Ends a process and all its descendants with SIGKILL. It may first take up to `grace_ms` to end
  /// by itself. Returns how it ended, "ended with status 1" or "was ended by signal 11
  /// (Segmentation fault)"; empty if it was still running.
  std::string end(pid_t pid, int grace_ms = 0);

 private:
  std::string key_;
  int socket_;
  pid_t pid_;
};

}  // namespace rollcall::reward
