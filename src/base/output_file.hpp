// Output files of commands. Such a file appears under its name only when it is complete, and it
// replaces nothing but a plain file, since a device, a pipe or a link of that name serves another
// purpose.
#pragma once

#include "base/error.hpp"
#include "base/plain_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace rollcall {

/// Called before anything is computed. Throws ConfigError if the path is something other than a
/// plain file, or if its folder does not exist.
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
