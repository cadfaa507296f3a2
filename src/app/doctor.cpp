// rollcall doctor: what this machine offers of MPI, Slurm, HDF5, Kokkos, CUDA and CPU features, and what to do about the rest.
#include "app/commands.hpp"
#include "app/install_paths.hpp"
#include "app/job_world.hpp"
#include "app/launcher.hpp"
#include "comm/communicator.hpp"
#include "io/library.hpp"
#include "kernels/library.hpp"
#include "method/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

namespace rollcall::app {
namespace {

/// One line of the report. `advice` is empty when all is well; a problem makes the command fail, a note does not.
struct Finding {
  enum class Level { ok, note, problem } level;
  std::string subject, found, advice;
};
using Level = Finding::Level;

Finding mpi() {
  const std::string version = comm::MpiScope::library_version();
  if (launched_by_mpi()) return {Level::ok, "MPI", version + ", started by a launcher", ""};
  if (!command_exists("mpirun") && !command_exists("srun")) {
    return {Level::note, "MPI", version + ", no launcher in PATH",
            "one rank works; for more, load the module that provides mpirun, or use srun in a Slurm job"};
  }
  return {Level::ok, "MPI", version + (command_exists("mpirun") ? ", mpirun found" : ", srun found"), ""};
}

Finding hdf5() {
  if (!io::hdf5_is_parallel())
    return {Level::problem, "HDF5", io::hdf5_version() + ", serial", "shards cannot be packed by several ranks: build with a parallel HDF5"};
  if (!io::hdf5_compiled_matches_loaded())
    return {Level::problem, "HDF5", io::hdf5_version() + " loaded, but another version compiled in", "load the module that the program was built with"};
  return {Level::ok, "HDF5", io::hdf5_version() + ", parallel", ""};
}

/// A finding for each numerics. A name in ROLLCALL_KERNELS that only one of them has is no problem of runs in that one.
std::vector<Finding> kernels_found() {
  const auto choices = kernels::kernel_choices();
  const bool all_refused = std::all_of(choices.begin(), choices.end(), [](const auto& choice) { return choice.chosen.empty(); });
  std::vector<Finding> findings;
  for (const auto& choice : choices) {
    const std::string names = fmt::format("{}", fmt::join(choice.runnable, ", "));
    if (choice.chosen.empty()) {
      findings.push_back({all_refused ? Level::problem : Level::note, "kernels", fmt::format("{}: none of {}", choice.numerics, names), choice.problem});
      continue;
    }
    const bool plain_only = choice.runnable.size() == 1;
    findings.push_back({plain_only ? Level::note : Level::ok, "kernels", fmt::format("{}: {} of {}", choice.numerics, choice.chosen, names),
                        plain_only ? "this CPU has neither AVX2 nor AVX-512: runs will be about ten times slower, with the same bits" : ""});
  }
  return findings;
}

Finding cuda() {
  const bool device = std::filesystem::exists("/dev/nvidia0");
  if (kernels::built_with_cuda())
    return device ? Finding{Level::ok, "CUDA", "built in, device present; kernels only, no stage uses it yet", ""}
                  : Finding{Level::note, "CUDA", "built in, no device", "start on a GPU node"};
  return device ? Finding{Level::note, "CUDA", "device present; no stage uses one yet", "cmake --preset cuda builds the kernels and their tests"}
                : Finding{Level::ok, "CUDA", "not built in, no device", ""};
}

Finding slurm() {
  if (!command_exists("srun")) return {Level::note, "Slurm", "not here", "jobs can still be started with mpirun; rollcall submit needs a login node"};
  const char* job = std::getenv("SLURM_JOB_ID");
  return {Level::ok, "Slurm", job ? fmt::format("srun found, inside job {}", job) : "srun found", ""};
}

/// The choice that jobs/launch.bash will make on this machine.
Finding launcher() {
  try {
    const Launcher choice = choose_launcher(launcher_facts(), Bind::none);
    return {Level::ok, "launcher", fmt::format("{} ({})", choice.command, choice.reason), ""};
  } catch (const EnvironmentError& e) {
    return {Level::note, "launcher", "none", e.what()};
  }
}

Finding cores() {
  const int cores = comm::cores_available();
  const double memory_gb = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGE_SIZE)) * 1e-9;
  if (cores < 2)
    return {Level::note, "machine", fmt::format("1 core, {:.0f} GB", memory_gb),
            "the quickstart is planned for two cores and takes about twice as long on one"};
  return {Level::ok, "machine", fmt::format("{} cores for this process, {:.0f} GB", cores, memory_gb), ""};
}

Finding templates() {
  try {
    return {Level::ok, "job templates", jobs_folder().string(), ""};
  } catch (const Error&) {
    return {Level::note, "job templates", "not found", "rollcall submit needs them: run from the build folder or cmake --install"};
  }
}

/// Of the shared library, which a copy of the program alone lacks.
Finding libtorch() {
  try {
    return {Level::ok, "LibTorch", method::library().torch_version(), ""};
  } catch (const EnvironmentError& e) {
    return {Level::problem, "LibTorch", "cannot be used", e.what()};
  }
}

ExitCode examine() {
  bool problem = false;
  std::vector<Finding> findings{mpi(), hdf5(), libtorch(), {Level::ok, "Kokkos", kernels::kokkos_version(), ""}};
  for (const auto& finding : kernels_found()) findings.push_back(finding);
  for (const auto& finding : {cuda(), slurm(), launcher(), cores(), templates()}) findings.push_back(finding);
  for (const auto& f : findings) {
    const char* mark = f.level == Level::ok ? "ok  " : f.level == Level::note ? "note" : "FAIL";
    fmt::print("{}  {:<14} {}\n", mark, f.subject, f.found);
    if (!f.advice.empty()) fmt::print("      {:<14} {}\n", "", f.advice);
    problem = problem || f.level == Level::problem;
  }
  return problem ? ExitCode::misconfigured : ExitCode::done;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  struct Flags {
    bool launcher = false;
    std::string bind = "none";
  };
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("doctor", "what this machine offers of MPI, Slurm, HDF5, Kokkos, CUDA and CPU features, and what to do about the rest");
  command->add_flag("--launcher", flags->launcher, "print only the command that starts the ranks of a job here");
  command->add_option("--bind", flags->bind, "with --launcher: what a rank is bound to: none, core or numa");
  command->callback([flags, &action] {
    action = [flags] {
      if (!flags->launcher) return examine();
      fmt::print("{}\n", choose_launcher(launcher_facts(), find_bind(flags->bind)).command);
      return ExitCode::done;
    };
  });
}

}  // namespace rollcall::app
