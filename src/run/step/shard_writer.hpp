// Files of a rank's own shards, built and written beside what the rank computes: what HDF5 and the
// file system take is no part of a step.
#pragma once

#include "comm/communicator.hpp"
#include "io/shard_file.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace rollcall::run {

/// One thread at the lowest priority, from the first file on. A failure stays until it is asked
/// for, and what waits behind it is not written.
class ShardWriter {
 public:
  explicit ShardWriter(std::filesystem::path run_dir);
  /// Gives the writing a moment, then gives it up: after a failure elsewhere a stuck file system
  /// must not keep the job from ending.
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void add(io::FileDraft file);
  bool writes() const;  ///< something that was added is not stored, nor has failed
  /// Returns once all that was added is stored. Throws what the writing met (StorageError), and
  /// ProtocolError at the deadline.
  void settle(comm::Communicator& ranks, double deadline_s);
  /// The same; gives what was stored since the last time.
  std::vector<io::PublishedFile> finish(comm::Communicator& ranks, double deadline_s);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< the thread's too: it may be given up
};

}  // namespace rollcall::run
