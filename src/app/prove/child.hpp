// A run started as a process of its own, which can be killed with all its ranks at any instant.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::app::prove {

class Child {
 public:
  /// Its output goes behind what `log` holds. It ends when this process does. Throws
  /// EnvironmentError.
  Child(const std::vector<std::string>& words, const std::filesystem::path& log);
  ~Child();  ///< kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Its exit code, 128 + signal where one ended it; -1 when `seconds` pass before.
  int wait(double seconds);
  void kill_all();  ///< SIGKILL to launcher and ranks at once, without a warning

 private:
  pid_t pid_ = -1;
  int code_ = -1;
};

}  // namespace rollcall::app::prove
