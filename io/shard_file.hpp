// Shards and scores as compact HDF5 files, schema 2 (io/README.md): built in memory, checksummed,
// written aside, fsynced, renamed.
#pragma once

#include "core/rollout.hpp"
#include "io/schema.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rollcall::io {

/// Facts of the run that every file carries as attributes, so that a file found alone explains
/// itself.
struct RunIdentity {
  std::string run_id, config_sha256, data_hash, binary_version, slurm_job_id;
  std::uint64_t seed = 0;
  std::string weights_hash{};  ///< XXH3-64 of the weights that the run began with; empty in files
                               ///< of schema 1.1 and before
  std::string judge{};  ///< JSON: the model that judged beside the verifier; empty where none did
  std::string numerics{};  ///< JSON: what the run was computed in, step by step; empty where no
                           ///< resume changed it
  std::string parent{};    ///< JSON: the run that this one branched off; empty where it began by
                           ///< itself
  std::string grader{};    ///< JSON: the files of reward.command with their hashes; empty without a
                           ///< command
};

/// A published file: what a message says of it. A reader that finds other bytes refuses them.
struct PublishedFile {
  std::string path;  ///< relative to the run folder
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3-64 of the whole file

  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& path& bytes& checksum;
  }
};

/// A group's prompt as the archive keeps it, in the shard's order of groups.
struct ShardPrompt {
  std::string text, answer;
  std::string shown{};  ///< as the policy was shown it; empty: as `text` says
  std::string extra{};  ///< JSON object of its row of a file; empty: it is of none
};

/// A file that is still to be built and written, which takes its time.
struct FileDraft {
  std::string path;                      ///< relative to the run folder
  std::function<std::string()> content;  ///< needs nothing of what the draft was made from
};
/// shards/<purpose>-<step>-<round>-<producer>.h5.
FileDraft draft_shard(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                      const RunIdentity& identity);
/// The scores beside it, as ...-scores.h5.
FileDraft draft_scores(const ScoredShard& scores, const RolloutShard& shard,
                       const RunIdentity& identity);
/// Both in one file, ...-scored.h5: half of what two cost the file system and HDF5. It is read as
/// either.
FileDraft draft_scored(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                       const ScoredShard& scores, const RunIdentity& identity);
/// Builds and writes it, on any thread. Throws StorageError; on failure nothing is left under the
/// final name.
PublishedFile publish(const std::filesystem::path& run_dir, const FileDraft& draft);

/// For a file that another rank has just published, before it is read: returns when it can be seen
/// here (base/nfs_visibility.hpp). Throws StorageError.
void await_published(const std::filesystem::path& run_dir, const PublishedFile& file);

/// Reads a published file after checking size, checksum, schema version and every dataset's
/// checksum. Throws StorageError naming file and fault.
RolloutShard read_shard(const std::filesystem::path& run_dir, const PublishedFile& file,
                        std::vector<ShardPrompt>* prompts = nullptr);
ScoredShard read_scores(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
