// The ranks of a job as the launcher started them: MPI under mpirun or srun, one rank without a
// launcher.
#pragma once

#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "kernels/parameter_kernels.hpp"
#include "reward/command/spawner.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::app {

/// It lives as long as the job. An error while it lives ends all ranks.
class JobWorld {
 public:
  explicit JobWorld(const Arguments& arguments);
  comm::Communicator& communicator() const { return *world_; }

 private:
  kernels::KokkosScope kokkos_;
  std::optional<comm::MpiScope> mpi_;
  std::unique_ptr<comm::Communicator> world_;
};

/// The spawners for the commands of a run file on this rank. A spawner is null if there is no such
/// command. Both exist if this rank cannot read the run file, because only rank 0 has to read it.
struct Spawners {
  std::unique_ptr<reward::Spawner> graders{};      ///< of reward.command
  std::unique_ptr<reward::Spawner> environment{};  ///< of environment.command
};
/// They must be made before JobWorld, because they fork.
Spawners make_spawners(const std::string& run_file, const std::vector<std::string>& assignments);

/// Whether an MPI launcher started this process (the variables of Open MPI, PMIx or PMI are set).
bool launched_by_mpi();

}  // namespace rollcall::app
