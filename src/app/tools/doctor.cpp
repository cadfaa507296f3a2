// rollcall doctor: prints what this machine offers of MPI, Slurm, HDF5, Kokkos, CUDA, NCCL and CPU
// features, and what to do about what is missing.
#include "app/commands.hpp"
#include "app/runs/job_world.hpp"
#include "app/runs/launcher.hpp"
#include "app/tools/gpu_facts.hpp"
#include "app/tools/install_paths.hpp"
#include "base/errors/visible.hpp"
#include "base/process/program.hpp"
#include "base/text/byte_size.hpp"
#include "base/text/joined.hpp"
#include "comm/communicator.hpp"
#include "comm/transport.hpp"
#include "io/library.hpp"
#include "kernels/library.hpp"
#include "method/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace rollcall::app {
namespace {

/// One line of the report. `advice` is empty if all is well. A problem makes the command fail; a
/// note does not.
struct Finding {
  enum class Level { ok, note, problem } level;
  std::string subject, found, advice;
};
using Level = Finding::Level;

Finding mpi() {
  const std::string version = comm::MpiScope::library_version();
  if (launched_by_mpi()) return {Level::ok, "MPI", version + ", started by a launcher", ""};
  if (!command_exists("mpirun") && !command_exists("srun")) {
    return {
        Level::note, "MPI", version + ", no launcher in PATH",
        "one rank works; for more, load the module that provides mpirun, or use srun in a Slurm "
        "job"};
  }
  return {Level::ok, "MPI",
          version + (command_exists("mpirun") ? ", mpirun found" : ", srun found"), ""};
}

Finding hdf5() {
  if (!io::hdf5_is_parallel())
    return {Level::problem, "HDF5", io::hdf5_version() + ", serial",
            "shards cannot be packed by several ranks: build with a parallel HDF5"};
  if (!io::hdf5_compiled_matches_loaded())
    return {Level::problem, "HDF5", io::hdf5_version() + " loaded, but another version compiled in",
            "load the module that the program was built with"};
  return {Level::ok, "HDF5", io::hdf5_version() + ", parallel", ""};
}

/// One finding for each numerics. A name in ROLLCALL_KERNELS that only some numerics have is not a
/// problem for runs in those.
std::vector<Finding> kernels_found() {
  const auto choices = kernels::kernel_choices();
  const bool all_refused = std::all_of(choices.begin(), choices.end(),
                                       [](const auto& choice) { return choice.chosen.empty(); });
  std::vector<Finding> findings;
  for (const auto& choice : choices) {
    const std::string names = fmt::format("{}", joined(choice.runnable, ", "));
    if (choice.chosen.empty()) {
      findings.push_back({all_refused ? Level::problem : Level::note, "kernels",
                          fmt::format("{}: none of {}", choice.numerics, names), choice.problem});
      continue;
    }
    const bool plain_only = choice.runnable.size() == 1;
    findings.push_back(
        {plain_only ? Level::note : Level::ok, "kernels",
         fmt::format("{}: {} of {}", choice.numerics, choice.chosen, names),
         plain_only
             ? "this CPU has neither AVX2 nor AVX-512: runs will be about ten times slower, with "
               "the same bits"
             : ""});
  }
  return findings;
}

/// One line each for driver, runtime, devices, NCCL, GPUDirect, and the transport that ranks with a
/// device each would use. What a program without CUDA does not use is not a problem.
std::vector<Finding> devices_found(const GpuFacts& facts) {
  const bool built = kernels::built_with_cuda();
  const Level absent = built ? Level::note : Level::ok;
  std::vector<Finding> findings;
  findings.push_back(
      facts.driver_cuda.empty()
          ? Finding{absent, "NVIDIA driver", "none (libcuda.so.1 is not here)",
                    built ? "start on a GPU node" : ""}
          : Finding{
                Level::ok, "NVIDIA driver",
                fmt::format("{}, CUDA {}", facts.driver.empty() ? "version unknown" : facts.driver,
                            facts.driver_cuda),
                ""});
  findings.push_back(
      {Level::ok, "CUDA runtime",
       fmt::format("{}, {}", built ? "built in" : "not built in",
                   facts.runtime.empty() ? "no libcudart here" : facts.runtime + " here"),
       ""});
  if (facts.gpus.empty() && !facts.driver_cuda.empty())
    findings.push_back({Level::note, "device", facts.no_devices, "start on a GPU node"});
  if (facts.gpus.empty() && facts.driver_cuda.empty())
    findings.push_back({absent, "device", "none", ""});
  for (const Gpu& gpu : facts.gpus) {
    const std::string found =
        fmt::format("{} at {}, compute capability {}.{}, {}", gpu.name, gpu.bus_id,
                    gpu.capability / 10, gpu.capability % 10, bytes_text(gpu.memory));
    const bool able = gpu.capability >= 80;  // needed for mma.sync on bf16 and cp.async
    findings.push_back({able && built ? Level::ok : Level::note, "device", found,
                        !able ? "the kernels need compute capability 8.0"
                        : built
                            ? ""
                            : "this program cannot use it: configure with cmake --preset cuda"});
  }
  findings.push_back({facts.nccl.empty() && !facts.gpus.empty() ? Level::note : Level::ok, "NCCL",
                      facts.nccl.empty() ? "not here (libnccl.so.2)" : facts.nccl,
                      facts.nccl.empty() && !facts.gpus.empty()
                          ? "load its module: without it sums and weights pass through the host"
                          : ""});
  const auto direct = std::count_if(facts.gpus.begin(), facts.gpus.end(),
                                    [](const Gpu& gpu) { return gpu.direct; });
  if (!facts.gpus.empty())
    findings.push_back(
        {std::size_t(direct) == facts.gpus.size() ? Level::ok : Level::note, "GPUDirect",
         fmt::format("RDMA on {} of {} devices", direct, facts.gpus.size()),
         std::size_t(direct) == facts.gpus.size()
             ? ""
             : "between nodes NCCL passes through the host: load nvidia_peermem, or a kernel with "
               "dma-buf"});
  std::vector<comm::RankDevice> ranks;
  for (const Gpu& gpu : facts.gpus)
    ranks.push_back(
        {"here", built ? gpu.bus_id : "", facts.nccl.empty() ? "NCCL is not here" : ""});
  if (ranks.empty()) ranks.resize(1);
  findings.push_back(
      {Level::ok, "run.comm auto", comm::describe(comm::choose_transport("auto", ranks)), ""});
  return findings;
}

Finding slurm() {
  if (!command_exists("srun"))
    return {Level::note, "Slurm", "not here",
            "jobs can still be started with mpirun; rollcall submit needs a login node"};
  const char* job = std::getenv("SLURM_JOB_ID");
  return {Level::ok, "Slurm", job ? fmt::format("srun found, inside job {}", job) : "srun found",
          ""};
}

/// The launcher that jobs/launch.bash will choose on this machine.
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
  const double memory_gb =
      double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGE_SIZE)) * 1e-9;
  if (cores < 2)
    return {Level::note, "machine", fmt::format("1 core, {:.0f} GB", memory_gb),
            "the quickstart is planned for two cores and takes about twice as long on one"};
  return {Level::ok, "machine",
          fmt::format("{} cores for this process, {:.0f} GB", cores, memory_gb), ""};
}

Finding templates() {
  try {
    return {Level::ok, "job templates", jobs_folder().string(), ""};
  } catch (const Error&) {
    return {Level::note, "job templates", "not found",
            "rollcall submit needs them: run from the build folder or cmake --install"};
  }
}

/// The finding about the shared library, which is missing if only the program was copied.
Finding libtorch() {
  try {
    return {Level::ok, "LibTorch", method::library().torch_version(), ""};
  } catch (const EnvironmentError& e) {
    return {Level::problem, "LibTorch", "cannot be used", e.what()};
  }
}

ExitCode examine() {
  bool problem = false;
  std::vector<Finding> findings{
      mpi(), hdf5(), libtorch(), {Level::ok, "Kokkos", kernels::kokkos_version(), ""}};
  for (const auto& finding : kernels_found()) findings.push_back(finding);
  for (const auto& finding : devices_found(gpu_facts())) findings.push_back(finding);
  for (const auto& finding : {slurm(), launcher(), cores(), templates()})
    findings.push_back(finding);
  for (const auto& f : findings) {
    const char* mark = f.level == Level::ok ? "ok  " : f.level == Level::note ? "note" : "FAIL";
    print_visible("{}  {:<14} {}\n", mark, f.subject, f.found);
    if (!f.advice.empty()) print_visible("      {:<14} {}\n", "", f.advice);
    problem = problem || f.level == Level::problem;
  }
  return problem ? ExitCode::misconfigured : ExitCode::done;
}

}  // namespace

void add_doctor(Command program) {
  struct Flags {
    bool launcher = false;
    std::string bind = "none";
  };
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "doctor",
      "what this machine offers of MPI, Slurm, HDF5, Kokkos, CUDA, NCCL and CPU features, and what "
      "to do about the rest");
  command.flag("--launcher", flags->launcher,
               "print only the command that starts the ranks of a job here");
  command.option("--bind", flags->bind,
                 "with --launcher: what a rank is bound to: none, core or numa");
  command.runs([flags] {
    if (!flags->launcher) return examine();
    print_visible("{}\n", choose_launcher(launcher_facts(), find_bind(flags->bind)).command);
    return ExitCode::done;
  });
}

}  // namespace rollcall::app
