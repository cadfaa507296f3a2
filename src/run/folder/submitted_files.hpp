// The files that a job will read, by their hashes at its submission. They may be edited while it
// waits.
#pragma once

#include "core/run_config.hpp"

#include <filesystem>
#include <string>

namespace rollcall::run {

/// A comment for the end of RUN/submitted-*.toml: the files of questions and examples, of
/// reward.command and environment.command, and of the model folders, each with its XXH3-64. Files
/// that cannot be read are left out; what checks the settings reports them. It reads whole files.
std::string record_of_files(const RunConfig& config);

/// Warns at the first start of a submitted run of files that are not what they were at its
/// submission. Does nothing for another run file, or where run.dir holds a run already.
void tell_since_submission(const std::filesystem::path& run_file, const RunConfig& config);

}  // namespace rollcall::run
