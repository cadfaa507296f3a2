// Compares the files of a checkpoint with the list of parts, when it is ended and when a run
// continues from it.
#pragma once

#include "core/run_config.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/checkpoint/part.hpp"

#include <string>

namespace rollcall::run {

/// Says which of the optional parts must be in a checkpoint. Not every run has them.
struct PartNeeds {
  bool reference = false;
  bool value_head = false;
  bool scheduler = true;
};

/// The needs of the checkpoint `name`, which was begun in this state of the run. The first
/// checkpoint of a branch has the parts that its parent had, and these may be none of the optional
/// ones.
PartNeeds part_needs(const RunConfig& config, const CoordinatorState& state,
                     const std::string& name);

/// Throws StorageError where a part that is needed, or one of its numbered files, is missing, and
/// where no row of the list knows a file. The message names the part and the file.
void check_parts(const io::CheckpointFacts& files, const PartNeeds& needs, const std::string& name);

}  // namespace rollcall::run
