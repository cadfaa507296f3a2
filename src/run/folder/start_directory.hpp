// The directory in which a run was started: what the relative paths of its settings are relative
// to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

struct JobRequest;

/// Writes the current directory to RUN/directory, unless an earlier start has written its own.
/// Throws StorageError.
void record_directory(const std::filesystem::path& run_dir);

/// What is recorded there; nothing for runs of earlier builds.
std::optional<std::filesystem::path> recorded_directory(const std::filesystem::path& run_dir);

/// Makes it the process's own, so that the run's task.file and model folders are found from
/// anywhere. Returns a sentence about it, also where that directory is not on this machine; empty
/// where nothing changes. Whatever else the command names must be absolute by then.
std::string enter_recorded_directory(const std::filesystem::path& run_dir);

/// key=value as they were given in `here`, for a process that is in `there`: the paths of files and
/// folders keep naming what they named. One below `there` becomes relative to it, as a setting of
/// the run would write it.
std::vector<std::string> assignments_from(const std::vector<std::string>& assignments,
                                          const std::filesystem::path& here,
                                          const std::filesystem::path& there);

/// Enters the directory of the run whose file or checkpoint a job begins from: the run folder's own
/// config.toml or submitted-*.toml, or what JobRequest::from names. Does nothing for other run
/// files,
/// whose paths are relative to where the command is given.
void enter_directory_of(JobRequest& request);

}  // namespace rollcall::run
