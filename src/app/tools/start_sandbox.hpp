// Starts the sandbox of a command whose verifier runs code.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"

#include <string>
#include <vector>

namespace rollcall::app {

/// Before MPI, LibTorch and any thread: the sandbox's spawner is a fork of the process as it is
/// now. Does nothing where the task's verifier runs no code, and leaves a run file that cannot be
/// read to the job, which says so once for all ranks. Throws EnvironmentError where code cannot be
/// confined here.
void start_sandbox(const std::string& run_file, const std::vector<std::string>& assignments);
void start_sandbox(const reward::Verifier& verifier, const SandboxSection& section);
void start_sandbox(const SandboxSection& section);

}  // namespace rollcall::app
