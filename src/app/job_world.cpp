// Recognises the launcher by the variables it sets.
#include "app/job_world.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rollcall::app {

bool launched_by_mpi() {
  // Open MPI's mpirun; PMIx under srun --mpi=pmix; PMI-1/2 of MPICH's hydra and Cray's launcher.
  constexpr std::array variables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

JobWorld::JobWorld(const Arguments& arguments) {
  if (launched_by_mpi()) {
    Arguments copy = arguments;
    mpi_.emplace(&copy.argc, &copy.argv);
    world_ = mpi_->world();
  } else {
    world_ = comm::alone();
  }
}

}  // namespace rollcall::app
