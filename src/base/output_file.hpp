// A file that a command is told to write takes its name at once and whole, in place of a plain file
// alone: a device, a pipe or a link of that name is somebody else's.
#pragma once

#include "base/error.hpp"
#include "base/plain_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace rollcall {

/// Before anything is computed. Throws ConfigError for what is there and is no plain file, and
/// where
/// the folder is not there.
inline void require_output_file(const std::filesystem::path& path) {
  const std::string kind = is_link(path) ? "a symbolic link" : what_else(path);
  require<ConfigError>(kind.empty(), fmt::format("cannot write {}: it is {}", path.string(), kind),
                       "a file would take its place", "name another file, or leave the option out");
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  require<ConfigError>(
      std::filesystem::is_directory(folder),
      fmt::format("cannot write {}: there is no folder {}", path.string(), folder.string()),
      "there is nowhere to write to", "make the folder, or name another file");
}

}  // namespace rollcall
