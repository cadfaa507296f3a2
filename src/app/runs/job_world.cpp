// Recognises a launcher by the environment variables that it sets.
#include "app/runs/job_world.hpp"

#include "base/errors/visible.hpp"
#include "core/run_config.hpp"
#include "io/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rollcall::app {

bool launched_by_mpi() {
  // Set by Open MPI's mpirun, by PMIx under srun --mpi=pmix, and by PMI-1/2 of MPICH's hydra and
  // Cray's launcher.
  constexpr std::array variables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::any_of(variables.begin(), variables.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

Spawners make_spawners(const std::string& run_file, const std::vector<std::string>& assignments) {
  bool grades = true, talks = true;
  try {
    const RunConfig config = load_run_config(run_file, assignments);
    grades = !config.reward.command.empty(), talks = !config.environment.command.empty();
  } catch (const Error&) {  // rank 0 reads it again and reports what is wrong
  }
  Spawners made;
  if (grades) made.graders = std::make_unique<reward::Spawner>();
  if (talks) made.environment = std::make_unique<reward::Spawner>();
  return made;
}

namespace {

/// Throws if srun started several tasks and each of them is alone in its MPI world: without the
/// plugin of this MPI, srun starts every task as a job of its own.
void require_one_job(const comm::Communicator& world) {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const bool alone = world.size() == 1 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
  require<EnvironmentError>(
      !alone || tasks == nullptr || std::atoi(tasks) <= 1,
      fmt::format("srun started {} tasks, but each of them is alone",
                  tasks == nullptr ? "" : visible(brief(tasks))),
      "they would run as many jobs in one folder instead of one job",
      "use srun --mpi=pmix (srun --mpi=list shows what the site offers), or mpirun inside the "
      "allocation; if each task is "
      "meant to be a job of its own, unset SLURM_STEP_NUM_TASKS");
}

}  // namespace

JobWorld::JobWorld(const Arguments& arguments) {
  if (launched_by_mpi()) {
    Arguments copy = arguments;
    mpi_.emplace(&copy.argc, &copy.argv);
    world_ = mpi_->world();
  } else {
    world_ = comm::alone();
  }
  require_one_job(*world_);
  io::read_files_of(io::Origin::own);
}

}  // namespace rollcall::app
