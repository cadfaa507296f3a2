// Archive files: the shards and scores of several steps packed into one HDF5 file by collective
// writes, with a manifest over all files.
#pragma once

#include "base/files/nfs_visibility.hpp"
#include "comm/communicator.hpp"
#include "io/removed.hpp"
#include "io/shard_file.hpp"
#include "io/training_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// A shard to pack with its scores, or a training file. Lists of them are in canonical order
/// (purpose, step, round, producer).
struct PackInput {
  PublishedFile shard, scores;  ///< the same file if one file holds both, or if it is a training
                                ///< file

  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& shard& scores;
  }
};

/// One line of the manifest (archive/manifest.json).
struct ArchiveEntry {
  PublishedFile file;
  std::string purpose;  ///< train | validation | eval | greedy
  std::uint64_t first_step = 0, last_step = 0;
  std::uint64_t groups = 0, rollouts = 0, tokens = 0;
};
/// Whether an archive file, which holds whole steps of one purpose, contains this step for this
/// purpose.
bool holds(const ArchiveEntry& entry, Purpose purpose, std::uint64_t step);
/// Whether an archive file contains any of the steps [first_step, last_step] for this purpose.
bool overlap(const ArchiveEntry& entry, Purpose purpose, std::uint64_t first_step,
             std::uint64_t last_step);
bool any_holds(const std::vector<ArchiveEntry>& entries, Purpose purpose, std::uint64_t step);

/// Collective over `ranks`: each rank writes its share of the groups through parallel HDF5 (when
/// the communicator is MPI; otherwise rank 0 writes all), rank 0 reads the file back and compares
/// it with the shards, publishes it, appends it to the manifest and removes the shards. Nothing is
/// lost in a crash at any point, because the shards stay until the manifest names the file, and a
/// second call notices that the work is done. All ranks use rank 0's inputs. They must be whole
/// steps of one purpose that precede a checkpoint, because a packed step must not be drawn again. A
/// fault on one rank is thrown on all (StorageError, or EnvironmentError if a program with a later
/// minor schema version wrote a shard). Returns the entry on every rank.
ArchiveEntry pack(comm::Communicator& ranks, const std::filesystem::path& run_dir,
                  const std::string& name, const std::vector<PackInput>& inputs,
                  const RunIdentity& identity);

/// Removes the shards that are left over from a pack that was interrupted after it wrote its
/// manifest. Returns the number of files. The next pack and the next start of the run do the same.
int end_interrupted_pack(const std::filesystem::path& run_dir);

/// Waits until a file that another rank has just packed, and its entry, are visible on this node
/// (base/files/nfs_visibility.hpp). Throws StorageError.
void await_packed(const std::filesystem::path& run_dir, const std::string& name,
                  double longest_s = kLateName_s);

std::vector<ArchiveEntry> read_manifest(const std::filesystem::path& run_dir);

/// Content hash of all rollouts of a run, of every purpose, in canonical order. It does not depend
/// on whether they are packed, or on how they are divided into files. Throws StorageError if a
/// shard has no scores or a group occurs twice.
std::string archive_sha256(const std::filesystem::path& run_dir);

/// A group from an archive or shard file, with the scores of its rollouts.
struct ArchivedGroup {
  Purpose purpose;
  std::uint64_t step;
  Group group;
  ShardPrompt prompt;
  std::vector<Score> scores;  ///< [rollouts]
  float temperature = 1.0F;
  std::vector<RolloutTraining> training = {};  ///< [rollouts], or empty if not recorded
};
/// All groups of one archive file. Throws StorageError.
std::vector<ArchivedGroup> read_archive(const std::filesystem::path& run_dir,
                                        const ArchiveEntry& entry,
                                        std::vector<std::string>* component_names = nullptr);

/// At the start of a run: moves shard files that are not in `keep` (their steps will be drawn
/// again) and archive files without a line in the manifest to run_dir/set_aside/<n>/, and returns
/// their number. It deletes only partial files, which it adds to `removed`, and shards whose bytes
/// are in the archive.
int set_aside_unfinished(const std::filesystem::path& run_dir,
                         const std::vector<PublishedFile>& keep, Removed* removed = nullptr);

}  // namespace rollcall::io
