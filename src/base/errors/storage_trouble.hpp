// Says why a file could not be written, in words that name the limit that was reached.
#pragma once

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace rollcall {

struct StorageTrouble {
  std::string reason;  ///< "No space left on device"
  std::string advice;
};

/// The words for the errno of a failed attempt to create `path` or to write to it.
inline StorageTrouble storage_trouble(int error, const std::filesystem::path& path) {
  const std::string usual = "check free space, quota and permissions";
  if (error == EFBIG)
    return {
        "the file would become larger than this process may write",
        "raise the limit of a file's size (ulimit -f), or choose a file system for larger files"};
  if (error == ELOOP)
    return {"it is a symbolic link, which could lead to another's file", "remove the link"};
  if (error == EROFS)
    return {"the file system can only be read",
            "have it mounted for writing, or choose a folder on another one"};
  struct statvfs facts {};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const bool has_facts = error == ENOSPC && ::statvfs(folder.c_str(), &facts) == 0;
  if (has_facts && facts.f_files > 0 && facts.f_favail == 0 && facts.f_bavail > 0)
    return {"the file system has space left, but can hold no more files (inodes)",
            "remove files there, or choose a folder on another file system"};
  return {std::strerror(error), usual};
}

}  // namespace rollcall
