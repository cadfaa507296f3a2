// The directory in which a run was started: what the relative paths of its settings are relative to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace rollcall::stages {

/// Writes the current directory to RUN/directory, unless an earlier start has written its own.
/// Throws StorageError.
void record_directory(const std::filesystem::path& run_dir);

/// What is recorded there; nothing for runs of earlier builds.
std::optional<std::filesystem::path> recorded_directory(const std::filesystem::path& run_dir);

/// Makes it the process's own, so that the run's task.file and model folders are found from
/// anywhere. Returns a sentence about it, also where that directory is not on this machine; empty
/// where nothing changes. Whatever else the command names must be absolute by then.
std::string enter_recorded_directory(const std::filesystem::path& run_dir);

}  // namespace rollcall::stages
