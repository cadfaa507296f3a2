// What the command line asks of a job.
#pragma once

#include "reward/command/spawner.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

enum class JobKind { train, eval };

/// What the run folder must hold: no run, a run to resume, or either.
enum class Start { fresh, resume, resume_or_fresh };

/// What the command line asks of the job; only rank 0's copy counts.
struct JobRequest {
  JobKind kind = JobKind::train;
  std::filesystem::path run_file;        ///< may be empty; all settings then have their defaults
  std::vector<std::string> assignments;  ///< key=value; they replace settings of the file
  Start start = Start::fresh;
  std::string from{};  ///< RUN or RUN@STEP: a new run branches off from this checkpoint of another
  /// Returns the version of the program and its libraries. It loads LibTorch, so it is called only
  /// when nothing is left that could refuse the job.
  std::string (*binary_version)() = nullptr;
  std::string evaluate;                ///< the checkpoint whose weights an eval job evaluates
  reward::Spawner* spawner = nullptr;  ///< starts reward.command on this rank, if the run has one
  reward::Spawner* environment_spawner = nullptr;  ///< starts environment.command likewise
  std::string note{};  ///< a sentence about the directory to which relative paths of the run refer,
                       ///< if it is not the one where the command was given (enter_directory_of)
  bool lacks_directory = false;  ///< the note says that the run was started in a directory that is
                                 ///< not here
};

}  // namespace rollcall::run
