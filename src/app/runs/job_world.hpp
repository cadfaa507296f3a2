// The ranks of a job as its launcher started them: MPI under mpirun or srun, one rank without a
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

/// Lives as long as the job. Errors while it is alive end all ranks.
class JobWorld {
 public:
  explicit JobWorld(const Arguments& arguments);
  comm::Communicator& communicator() const { return *world_; }

 private:
  kernels::KokkosScope kokkos_;
  std::optional<comm::MpiScope> mpi_;
  std::unique_ptr<comm::Communicator> world_;
};

/// What starts reward.command, where the run file has one, or cannot be read by this rank (rank 0
/// alone has to). To be made before JobWorld: it forks.
std::unique_ptr<reward::Spawner> make_spawner(const std::string& run_file,
                                              const std::vector<std::string>& assignments);

/// True when an MPI launcher started this process (Open MPI, PMIx, PMI: their variables are set).
bool launched_by_mpi();

}  // namespace rollcall::app
