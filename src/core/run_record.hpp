// Whether a folder is that of a run, by its config.toml: other programs have files of that name,
// too.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall {

/// Why a folder is not known to be a run's: it is a file, it has no config.toml, or one that
/// neither
/// begins as a run writes it nor reads as settings. Empty where it is one.
std::string why_no_record(const std::filesystem::path& run_dir);
inline bool holds_record(const std::filesystem::path& run_dir) {
  return why_no_record(run_dir).empty();
}

/// Throws InputError where there is no record, naming the run folder that a file lies in.
void require_record(const std::filesystem::path& run_dir);

}  // namespace rollcall
