// What the command line asks of a job.
#pragma once

#include "reward/command/spawner.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

enum class JobKind { train, eval };

/// What the folder of a run must hold: no run, one to go on with, or either.
enum class Start { anew, resume, resume_or_anew };

/// What the command line asks of the job; only rank 0's copy counts.
struct JobRequest {
  JobKind kind = JobKind::train;
  std::filesystem::path run_file;        ///< may be empty: defaults
  std::vector<std::string> assignments;  ///< key=value over the file
  Start start = Start::anew;
  std::string from{};  ///< RUN or RUN@STEP: a new run that goes on from that checkpoint of another
  std::string (*binary_version)() = nullptr;  ///< with the libraries', so LibTorch is loaded: asked
                                              ///< for once nothing is left to refuse
  std::string evaluate;                ///< eval: checkpoint reference; its weights are evaluated
  reward::Spawner* spawner = nullptr;  ///< of this rank, where the run file has a reward.command
  std::string note{};  ///< where the run's relative paths are read from, if not where the command
                       ///< was given (enter_directory_of)
  bool lacks_directory = false;  ///< the note says that this is another place than where the run
                                 ///< was started
};

}  // namespace rollcall::run
