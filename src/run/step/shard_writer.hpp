// Builds and writes the files of a rank's own shards while the rank computes, so that no step waits
// for HDF5 and the file system.
#pragma once

#include "comm/communicator.hpp"
#include "io/shard_file.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace rollcall::run {

/// Writes with one thread of the lowest priority, which starts with the first file. After a failure
/// nothing more is written, and settle() or finish() rethrows it.
class ShardWriter {
 public:
  explicit ShardWriter(std::filesystem::path run_dir);
  /// Waits a moment for the thread and then abandons it. After a failure elsewhere, a file system
  /// that hangs must not keep the job from ending.
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void add(io::FileDraft file);
  bool writes() const;  ///< whether a file is being written or waits for that
  /// Returns when all files that were added are stored. Throws the StorageError of a failed write,
  /// and ProtocolError at the deadline.
  void settle(comm::Communicator& ranks, double deadline_s);
  /// settle(), and then returns the files that were stored since the last call of finish().
  std::vector<io::PublishedFile> finish(comm::Communicator& ranks, double deadline_s);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< the writing thread owns it as well, since that thread may
                                    ///< outlive this object
};

}  // namespace rollcall::run
