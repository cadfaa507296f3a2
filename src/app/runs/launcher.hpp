// How the ranks of a job are started within a Slurm allocation. This is the only place that knows
// which launcher fits which MPI.
#pragma once

#include <string>

namespace rollcall::app {

/// What a rank is bound to. Each launcher has its own option for it.
enum class Bind { none, core, numa };
Bind find_bind(const std::string& name);  ///< throws ConfigError

struct Launcher {
  std::string command;  ///< the first words of a command, which go on with the number of ranks and
                        ///< the program
  std::string reason;   ///< why it was chosen, for people
};

/// What choose_launcher() decides by.
struct LauncherFacts {
  std::string mpi_library;   ///< version text of the library
  std::string srun_plugins;  ///< output of `srun --mpi=list`; empty without srun or plugins
  bool has_srun = false;
  std::string mpi_launcher;  ///< the same MPI's launcher in PATH; empty if there is none
  int cores_per_rank = 1;
};
LauncherFacts launcher_facts();

/// srun if Slurm offers the library's process-management interface, otherwise the library's own
/// launcher. Throws EnvironmentError if there is neither.
Launcher choose_launcher(const LauncherFacts& facts, Bind bind);

}  // namespace rollcall::app
