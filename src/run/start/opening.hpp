// What rank 0 does before any rank works: reads the settings, finds the checkpoint, makes and locks
// the run folder.
#pragma once

#include "base/file.hpp"
#include "comm/communicator.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/job_request.hpp"

#include <memory>
#include <optional>
#include <string>

namespace rollcall::run {

/// What rank 0 found out for all: the settings and the checkpoint to start from, or that there is
/// nothing to start.
struct Preamble {
  int exit_code = 0;
  bool sends_rollouts = false;
  std::string diversity;
  std::string toml, checkpoint, weights_hash, data_hash, judge, arithmetic, numerics, parent,
      grader;
  MaskOrigin mask;

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& exit_code& sends_rollouts& diversity& toml& checkpoint& weights_hash& data_hash& judge&
        arithmetic& numerics& parent& grader& mask;
  }
};

/// Everything that can be wrong with input and environment is found here.
struct Opening {
  Preamble preamble;
  std::unique_ptr<FolderLock> lock;
  std::optional<RunContext> context;
};

/// Throws InputError, ConfigError, EnvironmentError, StorageError.
Opening open_job(comm::Communicator& world, const JobRequest& request,
                 const comm::NodeShare& share);
/// Every rank reads prompts itself, and one of each node the first weights; those of a checkpoint
/// replace the latter. Throws EnvironmentError where `own` differs from those of rank 0.
void require_same_start(const io::RunIdentity& own, const Preamble& first);
/// On the other ranks: what rank 0 alone found out of the run.
void take_identity(const Preamble& first, io::RunIdentity& own);
int thread_count(const RunConfig& config, const comm::NodeShare& share);

}  // namespace rollcall::run
