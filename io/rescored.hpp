// Later verdicts on stored rollouts. They are score files beside an archive, which does not change.
#pragma once

#include "io/shard_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// A group with new scores. Groups are in the archive's order, and rollouts are identified by their
/// sample numbers alone.
struct RescoredGroup {
  Group group;
  std::vector<Score> scores;  ///< [rollouts]
};

/// The new scores of all rollouts of one purpose.
struct Rescored {
  Purpose purpose = Purpose::train;
  std::vector<std::string> component_names{};
  std::vector<RescoredGroup> groups{};
};

/// RUN/rescored/NAME
std::filesystem::path rescored_folder(const std::filesystem::path& run_dir,
                                      const std::string& name);

/// Publishes RUN/rescored/NAME with a file <purpose>.h5 for each purpose, either all of them or
/// none. `verifier` names the source of the verdicts. Throws InputError when the name is taken,
/// StorageError otherwise.
void write_rescored(const std::filesystem::path& run_dir, const std::string& name,
                    const std::vector<Rescored>& all, const std::string& verifier,
                    const RunIdentity& identity);
/// Throws InputError, naming the nearest name, when there is no such file, and StorageError for a
/// damaged file.
Rescored read_rescored(const std::filesystem::path& run_dir, const std::string& name,
                       Purpose purpose);

}  // namespace rollcall::io
