// Finds the damaged and uncommitted files of a run folder, and the checkpoint that can be resumed.
// All of this is found before anything is moved. Only a missing manifest is written at once.
#pragma once

#include "app/archive/committed.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

/// A file or folder to move, and the reason.
struct Move {
  std::string path, why;
};

struct Diagnosis {
  std::vector<io::ArchiveEntry> sound, damaged;  ///< archive files that the manifest names
  std::vector<io::ArchiveEntry> readmitted;      ///< undamaged archive files that it does not name,
                                                 ///< such as a restored copy
  std::optional<Committed> resume;  ///< the newest checkpoint with all shards present and
                                    ///< undamaged; if there is none, the newest that is undamaged
                                    ///< itself
  std::vector<std::string> lost;    ///< shards of broken steps, which were removed from that
                                    ///< checkpoint
  std::vector<Move> moves;          ///< in the order in which they are printed
  std::string rebuilt;  ///< where the unreadable manifest is kept; empty if there was none
  std::map<std::string, std::string> left_out;  ///< archive files that could not be added to a
                                                ///< rebuilt manifest, and the reasons
};

/// The caller must hold the run folder's lock. Throws InputError if the manifest cannot be read at
/// all, EnvironmentError if a newer program wrote it, and StorageError.
Diagnosis diagnose(const std::filesystem::path& run_dir);

}  // namespace rollcall::app::archive
