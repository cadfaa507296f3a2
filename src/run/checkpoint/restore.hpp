// Reads the parts of a run back from a checkpoint, in the order of the list of parts.
#pragma once

#include "comm/communicator.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/part.hpp"
#include "run/policy_store/policy_store.hpp"

#include <functional>
#include <map>

namespace rollcall::run {

enum class Restoring { resume, rollback };

/// How the owner of a part reads it. Nothing reads Part::config back, because the settings
/// determine the shape of the policy. The last parts, those of the scheduler, are read by
/// SchedulerFiles::load() when rank 0's coordinator is made, after all others have been restored.
using PartReader = std::function<void(const io::StoredCheckpoint& checkpoint, Restoring why)>;
using PartReaders = std::map<Part, PartReader>;

/// Calls the readers in the order of the list of parts (part.hpp); in a rollback without those of
/// parts that it keeps. A rank gives the readers of those parts that it holds. Throws StorageError
/// where a part that every run has is missing or a file is of no part (part_check.hpp). Rank 0 has
/// asked for the other parts of a run before it resumes.
void restore_parts(const io::StoredCheckpoint& checkpoint, Restoring why,
                   const PartReaders& readers);

/// Reads the weights into a node's store and publishes them under `version`. Collective over
/// `node`, whose rank 0 reads the file.
void restore_weights(const io::StoredCheckpoint& checkpoint, PolicyStore& store,
                     comm::Communicator& node, PolicyVersion version);

}  // namespace rollcall::run
