// Files of runs, models and archives are plain files: a pipe would be waited for, a device has no
// end, and through a link a writer would reach another's file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace rollcall {

/// For the open() of a reader that wants a plain file: a pipe that nobody writes to is then opened
/// at once, and named by what_else().
inline constexpr int kOpenToRead = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

inline std::string what_else(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// What an open file is instead of a plain one; empty where it is one.
inline std::string what_else(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? what_else(facts.st_mode) : "nothing that can be looked at";
}

/// The same by name, links followed; empty for what is not there, whose opening says so.
inline std::string what_else(const std::filesystem::path& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? what_else(facts.st_mode) : "";
}

inline bool is_link(const std::filesystem::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
}

/// Whether `path` still names the file that is open as `fd`.
inline bool is_still(int fd, const std::filesystem::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace rollcall
