// Checkpoints: a folder of plain files and a manifest that makes it valid. Free of HDF5 and
// LibTorch; tensors travel as safetensors bytes.
#pragma once

#include "base/file.hpp"
#include "base/nfs_visibility.hpp"
#include "io/removed.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// A checkpoint whole in memory, for tests and benchmarks: named blobs (file name -> bytes), for
/// example config.json, coordinator.json.
struct Checkpoint {
  std::string name;  ///< "sft_000050", "train_000120": sorts by phase and step
  std::map<std::string, std::string> files;
};

/// What the manifest says of a file.
struct FileFacts {
  std::uint64_t bytes = 0, checksum = 0;  ///< XXH3-64

  template <class Archive>
  void serialize(Archive& ar, unsigned) {
    ar& bytes& checksum;
  }
};
using CheckpointFacts = std::map<std::string, FileFacts>;

/// One rank's share of a checkpoint that several ranks write.
struct CheckpointShare {
  /// name -> its bytes, made when its turn has come
  std::map<std::string, std::function<FileContent()>> files;
  std::string earlier;                 ///< a complete checkpoint ...
  std::vector<std::string> unchanged;  ///< ... and its files that this one has as they are: linked,
                                       ///< not written
};

/// A checkpoint also makes the names of all shards durable that were published before it: a step
/// counts once a checkpoint stands behind it.
/// Each rank writes its share (a file has one writer) into a hidden folder, then one rank ends the
/// checkpoint with what all wrote: manifest.json with sizes, XXH3 checksums and a format number
/// comes last, and one rename shows the folder as run_dir/checkpoints/<name>. Every file is
/// fsynced. An existing checkpoint of that name is replaced. Both throw StorageError and leave
/// older checkpoints alone. Neither needs the thread that owns HDF5 or MPI.
CheckpointFacts write_share(const std::filesystem::path& run_dir, const std::string& name,
                            const CheckpointShare& share);
void end_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                    const CheckpointFacts& files);

/// Both by one rank; a failure leaves nothing of it.
void write_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                      const CheckpointShare& share);
void write_checkpoint(const std::filesystem::path& run_dir, const Checkpoint& checkpoint);

/// Where a crash left a checkpoint that was about to be replaced aside and none in its place, puts
/// it back. Only under the run folder's lock.
void restore_replaced(const std::filesystem::path& run_dir);

/// Names of the complete checkpoints, oldest first by the sequence number in their manifests.
/// `faults`: of folders whose manifest is
/// damaged or cannot be read. Without it the latter throws UnreadableError: what is newest would
/// not be known.
std::vector<std::string> list_checkpoints(const std::filesystem::path& run_dir,
                                          std::vector<std::string>* faults = nullptr);
/// The folders whose manifest is damaged: name -> what is wrong. Throws UnreadableError.
std::map<std::string, std::string> damaged_checkpoints(const std::filesystem::path& run_dir);

/// For a checkpoint that another rank has ended: returns when its manifest can be seen here
/// (base/nfs_visibility.hpp). Throws StorageError.
void await_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                      double longest_s = kLateName_s);

/// A complete checkpoint on disk. Its manifest is read once, a file when it is needed: those of
/// tensors are as large as the model and its moments, and are mapped.
class StoredCheckpoint {
 public:
  StoredCheckpoint(const std::filesystem::path& run_dir,
                   const std::string& name);  ///< throws StorageError naming the manifest
  const std::string& name() const { return name_; }
  const CheckpointFacts& files() const { return files_; }
  /// All three compare with the manifest, and throw StorageError naming the file; the first two
  /// also where the checkpoint has none of that name.
  std::string read(const std::string& file) const;  ///< its bytes
  /// where it lies; it is never in memory as a whole
  std::filesystem::path verified(const std::string& file) const;
  void verify() const;  ///< every file

 private:
  const FileFacts& facts_of(const std::string& file) const;

  std::string name_;
  std::filesystem::path folder_;
  CheckpointFacts files_;
};

/// All files of one, verified. Throws StorageError naming the file at fault.
Checkpoint read_checkpoint(const std::filesystem::path& run_dir, const std::string& name);

/// The newest of which every file is as its manifest says; corrupt newer ones are named in
/// `warnings`. Empty when there is none at all. Throws StorageError when all are corrupt,
/// UnreadableError when the file system does not let one be read.
std::optional<StoredCheckpoint> newest_checkpoint(const std::filesystem::path& run_dir,
                                                  std::vector<std::string>* warnings);

/// What interrupted writes and removals left: removed at every start, after newest_checkpoint() and
/// before the first share is written. Returns what that was.
Removed remove_leftovers(const std::filesystem::path& run_dir);

/// Removes all but the newest `keep_last` and those in `keep`; and leftovers.
void prune_checkpoints(const std::filesystem::path& run_dir, std::int64_t keep_last,
                       const std::vector<std::string>& keep);

/// For who reads single files of a checkpoint folder, wherever it lies now: compares them with its
/// manifest, without holding them in memory. One that is neither there nor in the manifest is
/// passed over. Throws StorageError naming the file at fault.
void verify_files(const std::filesystem::path& checkpoint, const std::vector<std::string>& names);

}  // namespace rollcall::io
