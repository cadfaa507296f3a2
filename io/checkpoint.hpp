// Checkpoints: a folder of plain files and a manifest that makes it valid. There is no HDF5 or
// LibTorch here; tensors are passed as safetensors bytes.
#pragma once

#include "base/files/file.hpp"
#include "base/files/nfs_visibility.hpp"
#include "io/removed.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// A whole checkpoint in memory, for tests and benchmarks: bytes by file name, for example
/// config.json and coordinator.json.
struct Checkpoint {
  std::string name;  ///< "sft_000050" or "train_000120"; names sort by phase and step
  std::map<std::string, std::string> files;
};

/// The manifest's entry for a file.
struct FileFacts {
  std::uint64_t bytes = 0, checksum = 0;  ///< size of the file, and its XXH3-64

  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& bytes& checksum;
  }
};
using CheckpointFacts = std::map<std::string, FileFacts>;

/// One rank's files in a checkpoint that several ranks write together.
struct CheckpointShare {
  /// Bytes by file name; the function is called when the file is written.
  std::map<std::string, std::function<FileContent()>> files;
  std::string earlier;                 ///< an earlier complete checkpoint
  std::vector<std::string> unchanged;  ///< files that are the same in `earlier`; they are linked
                                       ///< instead of written
};

/// A checkpoint also makes durable the names of all shards that were published before it, because a
/// step counts only once a checkpoint follows it. Each rank writes its share (a file has one
/// writer) into a hidden folder. Then one rank ends the checkpoint with the entries of all ranks:
/// it writes manifest.json, with sizes, XXH3 checksums and a format number, as the last file, and
/// renames the folder to run_dir/checkpoints/<name>. Every file is fsynced. An existing checkpoint
/// with that name is replaced. Both functions throw StorageError, leave older checkpoints alone,
/// and may run on any thread.
CheckpointFacts write_share(const std::filesystem::path& run_dir, const std::string& name,
                            const CheckpointShare& share);
void end_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                    const CheckpointFacts& files);

/// Writes and ends a checkpoint of one rank. If it fails, nothing of it is left.
void write_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                      const CheckpointShare& share);
void write_checkpoint(const std::filesystem::path& run_dir, const Checkpoint& checkpoint);

/// If a crash interrupted the replacement of a checkpoint, so that the old one was moved aside and
/// the new one is missing, puts the old one back. Call it only under the run folder's lock.
void restore_replaced(const std::filesystem::path& run_dir);

/// Names of the complete checkpoints, oldest first by the sequence number in their manifests.
/// `faults` receives the folders whose manifest is damaged or cannot be read. Without it, a
/// manifest that cannot be read throws UnreadableError, because the newest checkpoint would be
/// unknown.
std::vector<std::string> list_checkpoints(const std::filesystem::path& run_dir,
                                          std::vector<std::string>* faults = nullptr);
/// The fault of each damaged manifest, by folder name. Throws UnreadableError.
std::map<std::string, std::string> damaged_checkpoints(const std::filesystem::path& run_dir);

/// Waits until the manifest of a checkpoint that another rank has ended is visible on this node
/// (base/files/nfs_visibility.hpp). Throws StorageError.
void await_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                      double longest_s = kLateName_s);

/// A complete checkpoint on disk. Its manifest is read once, and each file when it is needed.
/// Tensor files are mapped, because they are as large as the model and its moments.
class StoredCheckpoint {
 public:
  StoredCheckpoint(const std::filesystem::path& run_dir,
                   const std::string& name);  ///< throws StorageError naming the manifest
  const std::string& name() const { return name_; }
  const CheckpointFacts& files() const { return files_; }
  // The three functions below compare with the manifest and throw StorageError naming the file. The
  // first two also throw if the checkpoint has no such file.

  std::string read(const std::string& file) const;  ///< the bytes of a file
  /// The path of a file; the comparison does not hold the whole file in memory.
  std::filesystem::path verified(const std::string& file) const;
  void verify() const;  ///< compares every file

 private:
  const FileFacts& facts_of(const std::string& file) const;

  std::string name_;
  std::filesystem::path folder_;
  CheckpointFacts files_;
};

/// All files of a checkpoint, verified. Throws StorageError naming the damaged file.
Checkpoint read_checkpoint(const std::filesystem::path& run_dir, const std::string& name);

/// Calls restore_replaced(), and returns the newest checkpoint in which all files match the
/// manifest. `warnings` receives the faults of newer ones, and of any whose manifest is damaged.
/// Empty when there are no checkpoints. Throws StorageError when all are corrupt, UnreadableError
/// when the file system refuses to read one, and EnvironmentError when one has a different format.
std::optional<StoredCheckpoint> newest_checkpoint(const std::filesystem::path& run_dir,
                                                  std::vector<std::string>* warnings);

/// Removes what interrupted writes and removals have left behind, and returns a list of it. Called
/// at every start, after newest_checkpoint() and before the first share is written.
Removed remove_leftovers(const std::filesystem::path& run_dir);

/// Removes leftovers, and all checkpoints except the newest `keep_last` and those in `keep`.
/// Checkpoints with a manifest that is damaged or cannot be read stay.
void prune_checkpoints(const std::filesystem::path& run_dir, std::int64_t keep_last,
                       const std::vector<std::string>& keep);

/// For programs that read individual files from a checkpoint folder, which may be anywhere.
/// Compares these files with its manifest, without holding them in memory. A file that is neither
/// in the folder nor in the manifest is skipped. Throws StorageError naming the damaged file.
void verify_files(const std::filesystem::path& checkpoint, const std::vector<std::string>& names);

}  // namespace rollcall::io
