// How the ranks of a job are started inside a Slurm allocation: the one place that knows which
// launcher fits which MPI.
#pragma once

#include <string>

namespace rollcall::app {

/// What a rank is bound to; every launcher has its own words for it.
enum class Bind { none, core, numa };
Bind find_bind(const std::string& name);  ///< throws ConfigError

struct Launcher {
  std::string command;  ///< to be followed by the program
  std::string reason;   ///< why this one, for people
};

/// What the choice depends on.
struct LauncherFacts {
  std::string mpi_library;   ///< as the library names itself
  std::string srun_plugins;  ///< output of `srun --mpi=list`; empty: no srun, or it offers none
  bool has_srun = false;
  std::string mpi_launcher;  ///< of the same MPI, found in PATH; empty: none
  int cores_per_rank = 1;
};
LauncherFacts launcher_facts();

/// srun where Slurm speaks the library's process-management interface, else the library's own
/// launcher inside the allocation. Throws EnvironmentError when there is neither.
Launcher choose_launcher(const LauncherFacts& facts, Bind bind);

}  // namespace rollcall::app
