// Compares the files of a checkpoint with the list of parts, when it is ended and when a run goes
// on from it.
#pragma once

#include "core/run_config.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/checkpoint/part.hpp"

#include <string>

namespace rollcall::run {

/// Which of the parts that not every run has must be in a checkpoint.
struct PartNeeds {
  bool reference = false;
  bool value_head = false;
  bool scheduler = true;
};

/// The needs of the checkpoint `name`, which was begun in this state of the run. The first
/// checkpoint of a branch has what its parent had, which may be none of these parts.
PartNeeds part_needs(const RunConfig& config, const CoordinatorState& state,
                     const std::string& name);

/// Throws StorageError where a part that is needed, or one of its numbered files, is missing, and
/// where no row of the list knows a file. The message names the part and the file.
void check_parts(const io::CheckpointFacts& files, const PartNeeds& needs, const std::string& name);

}  // namespace rollcall::run
