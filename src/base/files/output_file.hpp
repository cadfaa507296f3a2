// Output files and folders of commands. Such a file appears under its name only when it is
// complete, and it replaces only an earlier file of the same command. If the command fails, nothing
// is left of a folder.
#pragma once

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace rollcall {

/// Throws ConfigError if this process may not create files in the folder, which exists.
inline void require_writable(const std::filesystem::path& folder,
                             const std::filesystem::path& wanted) {
  const int refused = ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  require<ConfigError>(refused == 0,
                       fmt::format("cannot write {}: {}", wanted.string(), std::strerror(refused)),
                       fmt::format("{} takes no files of this user", folder.string()),
                       "name another place, or have the folder made writable");
}

/// Called before anything is computed. `beginning`: at least one byte, with which all files of this
/// command begin. Throws ConfigError if the path is a link or anything other than a plain file, if
/// it is a non-empty file that begins differently, or if its folder does not exist.
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
  require_writable(folder, path);
}

/// A folder that a command writes into, such as a model's. Anything new in it is removed again,
/// unless keep() is called when all is written.
class OutputFolder {
 public:
  /// Creates the folder if it is missing. Throws ConfigError if it cannot be created or written.
  explicit OutputFolder(std::filesystem::path path) : path_(std::move(path)) {
    namespace fs = std::filesystem;
    std::error_code refused;
    for (fs::path at = fs::absolute(path_).lexically_normal();
         !fs::exists(at, refused) && !refused && at.has_relative_path(); at = at.parent_path())
      made_ = at;
    if (!refused) fs::create_directories(path_, refused);
    require<ConfigError>(!refused && fs::is_directory(path_),
                         fmt::format("cannot create folder {}: {}", path_.string(),
                                     refused ? refused.message() : "there is a file of that name"),
                         "the files of a model would be written there", "name another folder");
    require_writable(path_, path_);
    for (const auto& entry : list_folder(path_)) earlier_.insert(entry.path());
  }
  ~OutputFolder() {
    if (is_kept_) return;
    std::error_code ignored;  // the command fails for a different reason, which it reports
    if (!made_.empty()) std::filesystem::remove_all(made_, ignored);
    else
      for (std::filesystem::directory_iterator entry(path_, ignored);
           !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored))
        if (!earlier_.contains(entry->path())) {
          std::error_code left;
          std::filesystem::remove_all(entry->path(), left);
        }
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  /// Also makes the names of new folders durable.
  void keep() {
    if (!made_.empty()) fsync_path(made_.parent_path());
    is_kept_ = true;
  }

 private:
  std::filesystem::path path_, made_;  ///< made_: the uppermost folder that is new; may be empty
  std::set<std::filesystem::path> earlier_;
  bool is_kept_ = false;
};

}  // namespace rollcall
