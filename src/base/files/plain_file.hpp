// Tells plain files from others. Files of runs, models and archives must be plain: reading a pipe
// could wait forever, a device has no end, and a write through a link would reach another file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace rollcall {

/// Flags for opening a file that must be plain. A pipe without a writer is then opened at once, and
/// what_else() names it.
inline constexpr int kOpenToRead = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

inline std::string what_else(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// The kind of an open file if it is not a plain file ("a pipe"); empty if it is one.
inline std::string what_else(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? what_else(facts.st_mode) : "nothing that can be looked at";
}

/// The kind of the file of this name, following links, if it is not a plain file. Empty if it is
/// one, or if there is no such file, which opening it will report.
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
