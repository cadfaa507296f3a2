// The start of a job on rank 0: it reads the settings, finds the checkpoint, and makes and locks
// the run folder.
#pragma once

#include "base/files/file.hpp"
#include "comm/communicator.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"

#include <memory>
#include <optional>
#include <string>

namespace rollcall::run {

/// The message from rank 0 to all ranks: the settings and the checkpoint to start from, or the exit
/// code if there is nothing to start.
struct Preamble {
  int exit_code = 0;
  bool sends_rollouts = false;
  std::string diversity;
  std::string toml, checkpoint, weights_hash, data_hash, judge, arithmetic, numerics, parent,
      grader, environment;
  MaskOrigin mask;

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& exit_code& sends_rollouts& diversity& toml& checkpoint& weights_hash& data_hash& judge&
        arithmetic& numerics& parent& grader& environment& mask;
  }
};

/// The result of the start on rank 0. Everything that can be wrong with input and environment has
/// been found before.
struct OpenedJob {
  Preamble preamble;
  std::unique_ptr<FolderLock> lock;
  std::optional<RunContext> context;
};

/// Opens the job on rank 0. Throws InputError, ConfigError, EnvironmentError, StorageError.
OpenedJob open_job(comm::Communicator& world, const JobRequest& request,
                   const comm::NodeShare& share);
/// Throws EnvironmentError if the hashes of this rank's prompts or first weights differ from the
/// hashes of rank 0. Every rank reads the prompts itself, and one rank of each node reads the first
/// weights, which a checkpoint's weights replace later.
void require_same_start(const io::RunIdentity& own, const Preamble& first);
/// On the other ranks: takes over the facts about the run that only rank 0 has found.
void take_identity(const Preamble& first, io::RunIdentity& own);
int thread_count(const RunConfig& config, const comm::NodeShare& share);

}  // namespace rollcall::run
