// Shards and scores as compact HDF5 files, schema 2 (io/README.md). They are built in memory with
// checksums, written under another name, fsynced and renamed.
#pragma once

#include "core/rollout.hpp"
#include "io/schema.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rollcall::io {

/// Facts about the run that every file has as attributes, so that a single file explains itself.
struct RunIdentity {
  std::string run_id, config_sha256, data_hash, binary_version, slurm_job_id;
  std::uint64_t seed = 0;
  std::string weights_hash{};  ///< XXH3-64 of the weights that the run began with; empty in files
                               ///< of schema 1.1 and earlier
  std::string judge{};  ///< JSON: the model that judged in addition to the verifier; empty without
                        ///< a judge
  std::string numerics{};  ///< JSON: the numerics of the run with the steps at which they changed;
                           ///< empty if no resume has changed them
  std::string parent{};    ///< JSON: the run from which this one branched off; empty if there is
                           ///< none
  std::string grader{};    ///< JSON: the files of reward.command with their hashes; empty without a
                           ///< command
  std::string environment{};  ///< JSON: the environment with the names of its components and of its
                              ///< kinds of actions, in order; empty without an environment
};

/// A published file as messages describe it. A reader refuses a file with different bytes.
struct PublishedFile {
  std::string path;  ///< relative to the run folder
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3-64 of the whole file

  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& path& bytes& checksum;
  }
};

/// A group's prompt as the archive stores it, in the shard's order of groups.
struct ShardPrompt {
  std::string text, answer;
  std::string shown{};  ///< the text that the policy was given; if empty, it is `text`
  std::string extra{};  ///< the prompt's row in task.file as a JSON object; empty if the prompt
                        ///< comes from no file
};

/// A file that has not been built and written yet. Any thread may do that later.
struct FileDraft {
  std::string path;                      ///< relative to the run folder
  std::function<std::string()> content;  ///< builds the file's bytes from columns that it owns
};
/// The draft of shards/<purpose>-<step>-<round>-<producer>.h5.
FileDraft draft_shard(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                      const RunIdentity& identity);
/// The draft of a shard's scores in a file beside the shard, ...-scores.h5.
FileDraft draft_scores(const ScoredShard& scores, const RolloutShard& shard,
                       const RunIdentity& identity);
/// The draft of a shard with its scores in one file, ...-scored.h5, which costs the file system and
/// HDF5 half as much as two files. It can be read as a shard and as scores.
FileDraft draft_scored(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                       const ScoredShard& scores, const RunIdentity& identity);
/// Builds and writes the file, on any thread. Throws StorageError. After a failure there is no file
/// under the final name.
PublishedFile publish(const std::filesystem::path& run_dir, const FileDraft& draft);

/// Waits until a file that another rank has just published is visible on this node
/// (base/files/nfs_visibility.hpp). Throws StorageError.
void await_published(const std::filesystem::path& run_dir, const PublishedFile& file);

/// Reads a published file after checking size, checksum, schema version and every dataset's
/// checksum. Throws StorageError naming file and fault.
RolloutShard read_shard(const std::filesystem::path& run_dir, const PublishedFile& file,
                        std::vector<ShardPrompt>* prompts = nullptr);
ScoredShard read_scores(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
