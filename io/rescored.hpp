// Verdicts on stored rollouts that were given later: score files beside an archive, which they
// leave as it is.
#pragma once

#include "io/shard_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// Groups in the archive's order; of their rollouts only the samples count.
struct RescoredGroup {
  Group group;
  std::vector<Score> scores;  ///< [rollouts]
};

/// The new verdicts on all rollouts of one purpose.
struct Rescored {
  Purpose purpose = Purpose::train;
  std::vector<std::string> component_names{};
  std::vector<RescoredGroup> groups{};
};

/// RUN/rescored/NAME
std::filesystem::path rescored_folder(const std::filesystem::path& run_dir,
                                      const std::string& name);

/// Publishes RUN/rescored/NAME with a file <purpose>.h5 of each: all of them or nothing. `verifier`
/// says who judged. Throws InputError when there is one of this name, StorageError.
void write_rescored(const std::filesystem::path& run_dir, const std::string& name,
                    const std::vector<Rescored>& all, const std::string& verifier,
                    const RunIdentity& identity);
/// Throws InputError when there is no such file, naming the nearest, StorageError for a damaged
/// one.
Rescored read_rescored(const std::filesystem::path& run_dir, const std::string& name,
                       Purpose purpose);

}  // namespace rollcall::io
