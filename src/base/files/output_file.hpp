// Output files of commands. Such a file appears under its name only when it is complete, and it
// replaces nothing but an earlier file of the same command.
#pragma once

#include "base/errors/error.hpp"
#include "base/files/plain_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace rollcall {

/// Called before anything is computed. `beginning`: at least one byte, with which all files of this
/// command begin. Throws ConfigError if the path is a link or anything else but a plain file, if it
/// is a file that begins otherwise and is not empty, and if its folder does not exist.
inline void require_output_file(const std::filesystem::path& path, std::string_view beginning) {
  const std::string kind = is_link(path) ? "a symbolic link" : what_else(path);
  require<ConfigError>(kind.empty(), fmt::format("cannot write {}: it is {}", path.string(), kind),
                       "a file would take its place", "name another file, or leave the option out");
  std::error_code unknown;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const bool has_folder = std::filesystem::is_directory(folder, unknown);
  require<ConfigError>(has_folder,
                       fmt::format("cannot write {}: there is no folder {}{}", path.string(),
                                   folder.string(), unknown ? ": " + unknown.message() : ""),
                       "there is nowhere to write to", "make the folder, or name another file");
  std::ifstream earlier(path, std::ios::binary);
  std::string found(beginning.size(), '\0');
  earlier.read(found.data(), std::streamsize(found.size()));
  const bool is_empty = earlier.is_open() && earlier.gcount() == 0,
             is_absent = !std::filesystem::exists(path, unknown) && !unknown;
  require<ConfigError>(
      found == beginning || is_empty || is_absent,
      fmt::format("cannot write {}: it holds something else than this command writes",
                  path.string()),
      "it would be lost", "name another file, or remove that one");
}

}  // namespace rollcall
