// A run as a child process, which can be killed with all its ranks at any moment.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::app::prove {

class Child {
 public:
  /// Appends the child's output to `log`. The child ends when this process ends. Throws
  /// EnvironmentError.
  Child(const std::vector<std::string>& words, const std::filesystem::path& log);
  ~Child();  ///< kills the processes that still run
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Waits up to `seconds`. Returns the exit code, or 128 + the signal that ended the child, or -1
  /// if it still runs.
  int wait(double seconds);
  void kill_all();  ///< sends SIGKILL to launcher and ranks at once

 private:
  pid_t pid_ = -1;
  int code_ = -1;
};

}  // namespace rollcall::app::prove
