// Ends a job when a rank throws, with one message for the whole job.
#pragma once

#include "base/errors/error.hpp"
#include "comm/communicator.hpp"

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::watch {

/// Several ranks may fail for the same reason. Returns true for the rank that should print it, and
/// false if another rank has already written it to RUN/failure.
bool is_first_failure(const std::filesystem::path& run_dir, const std::string& message);

/// The first rank that throws prints the error and writes it to RUN/failure. The other ranks print
/// nothing. The first rank's abort ends them; if it does not within 10 s, they end the job
/// themselves.
class Failure {
 public:
  Failure(comm::Communicator& world, std::filesystem::path run_dir)
      : world_(&world), run_dir_(std::move(run_dir)) {}

  /// Must be called before anything is destroyed, because a destructor may wait for a thread that
  /// writes files. Only the first call counts.
  void say(const std::exception& error);
  /// Called after say(). Ends the other ranks; in a one-rank job, returns the error's exit code.
  ExitCode end();

 private:
  comm::Communicator* world_;
  std::filesystem::path run_dir_;
  std::optional<bool> first_;  ///< whether this rank printed the error; set by say()
  ExitCode code_ = ExitCode::failed;
};

}  // namespace rollcall::watch
