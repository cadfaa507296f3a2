// Recognises the launcher by the variables it sets.
#include "app/job_world.hpp"

#include "core/run_config.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rollcall::app {

bool launched_by_mpi() {
  // Open MPI's mpirun; PMIx under srun --mpi=pmix; PMI-1/2 of MPICH's hydra and Cray's launcher.
  constexpr std::array variables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<reward::Spawner> make_spawner(const std::string& run_file, const std::vector<std::string>& assignments) {
  try {
    if (load_run_config(run_file, assignments).reward.command.empty()) return nullptr;
  } catch (const Error&) {  // rank 0 reads it again, and says what is wrong with it
  }
  return std::make_unique<reward::Spawner>();
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
