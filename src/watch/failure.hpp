// The end of a rank that threw: one message from the whole job, then the job's end.
#pragma once

#include "base/error.hpp"
#include "comm/communicator.hpp"

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::watch {

/// Several ranks may fail of one cause: true for the one that is to say so, false when another has
/// said it in RUN/failure.
bool is_first_failure(const std::filesystem::path& run_dir, const std::string& message);

/// The first rank to throw says why, on stderr and in RUN/failure; the others are quiet: its abort
/// ends them, and if it cannot, they end the job themselves.
class Failure {
 public:
  Failure(comm::Communicator& world, std::filesystem::path run_dir)
      : world_(&world), run_dir_(std::move(run_dir)) {}

  /// Before anything is taken down, for that may wait for a writer. Only the first error counts.
  void say(const std::exception& error);
  /// Behind say: ends the other ranks. Returns the exit code of the error where there are none.
  ExitCode end();

 private:
  comm::Communicator* world_;
  std::filesystem::path run_dir_;
  std::optional<bool> first_;  ///< known once it is said
  ExitCode code_ = ExitCode::failed;
};

}  // namespace rollcall::watch
