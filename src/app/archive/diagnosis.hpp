// What is damaged or not committed in a run folder, and what can be resumed: found out before
// anything is moved. Only a manifest is written at once.
#pragma once

#include "app/archive/committed.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

/// One thing to move, and why.
struct Move {
  std::string path, why;
};

struct Diagnosis {
  std::vector<io::ArchiveEntry> sound, damaged;  ///< archive files that the manifest names
  std::vector<io::ArchiveEntry> readmitted;      ///< sound ones that it does not name, such as a
                                                 ///< restored copy
  std::optional<Committed> resume;  ///< the newest checkpoint whose shards are all there and whole;
                                    ///< without one the newest that is whole itself ...
  std::vector<std::string> lost;    ///< ... and, taken out of it, the shards of steps that are not
  std::vector<Move> moves;          ///< in the order they are told
  std::string rebuilt;  ///< where the manifest is kept that could not be read; empty: there was
                        ///< none
  std::map<std::string, std::string> left_out;  ///< archive files that a rebuilt manifest could not
                                                ///< take in, and why
};

/// Under the run folder's lock. Throws InputError when the manifest cannot be read at all,
/// EnvironmentError when a newer program wrote it, StorageError.
Diagnosis diagnose(const std::filesystem::path& run_dir);

}  // namespace rollcall::app::archive
