// Starts the sandbox for a command whose verifier or environment runs code.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"

#include <string>
#include <vector>

namespace rollcall::app {

/// Must be called before MPI, LibTorch and any thread, because the sandbox's spawner is a fork of
/// the process. Does nothing if neither the verifier nor the environment runs code. A run file that cannot be read is
/// left to the job, which reports it once for all ranks. Throws EnvironmentError if code cannot be
/// confined on this machine.
void start_sandbox(const std::string& run_file, const std::vector<std::string>& assignments);
void start_sandbox(const reward::Verifier& verifier, const SandboxSection& section);
void start_sandbox(const SandboxSection& section);

}  // namespace rollcall::app
