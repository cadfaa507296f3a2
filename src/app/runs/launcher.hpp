// Chooses the way in which the ranks of a job are started within a Slurm allocation. This is the
// only place that knows which launcher fits which MPI.
#pragma once

#include <string>

namespace rollcall::app {

/// The hardware to which a rank is bound. Each launcher has its own option for it.
enum class Bind { none, core, numa };
Bind find_bind(const std::string& name);  ///< throws ConfigError

struct Launcher {
  std::string command;  ///< the first words of a command; the number of ranks and the program
                        ///< follow them
  std::string reason;   ///< the reason for the choice, for people
};

/// The facts by which choose_launcher() decides.
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
