// Whether a folder is a run folder, as its config.toml shows. Other programs have files of that
// name as well.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall {

/// Why the folder is not a run folder: it is a file, it has no config.toml, or the config.toml
/// neither begins as a run writes it nor can be read as settings. Empty if it is a run folder.
/// Throws std::filesystem::filesystem_error if the file system does not say what is there: an
/// outage must not make a run look like no run, over which another would be started.
std::string why_no_record(const std::filesystem::path& run_dir);
inline bool holds_record(const std::filesystem::path& run_dir) {
  return why_no_record(run_dir).empty();
}

/// Throws InputError if the folder is not a run folder. For a file within a run folder, the message
/// names that folder.
void require_record(const std::filesystem::path& run_dir);

}  // namespace rollcall
