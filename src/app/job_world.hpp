// The ranks of a job as its launcher started them: MPI under mpirun or srun, one rank without a launcher.
#pragma once

#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "kernels/parameter_kernels.hpp"

#include <memory>
#include <optional>

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

/// True when an MPI launcher started this process (Open MPI, PMIx, PMI: their variables are set).
bool launched_by_mpi();

}  // namespace rollcall::app
