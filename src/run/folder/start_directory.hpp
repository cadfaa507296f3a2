// The directory in which a run was started. The relative paths of its settings refer to it.
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

/// The recorded directory; nothing for runs of earlier builds.
std::optional<std::filesystem::path> recorded_directory(const std::filesystem::path& run_dir);

/// Makes the recorded directory the current one, so that task.file and the model folders of the run
/// are found wherever the command is given. Returns a sentence about it, also where the directory
/// does not exist on this machine; empty where nothing changes. All other paths of the command must
/// be absolute before this call.
std::string enter_recorded_directory(const std::filesystem::path& run_dir);

/// Assignments key=value that were given in `here`, for a process that is in `there`: paths of
/// files and folders still name the same files. A path below `there` becomes relative to it, as a
/// setting of the run would be written.
std::vector<std::string> assignments_from(const std::vector<std::string>& assignments,
                                          const std::filesystem::path& here,
                                          const std::filesystem::path& there);

/// Enters the directory of the run whose file or checkpoint a job begins from: the run folder's own
/// config.toml or submitted-*.toml, or what JobRequest::from names. Does nothing for other run
/// files, whose paths refer to the directory where the command is given.
void enter_directory_of(JobRequest& request);

}  // namespace rollcall::run
