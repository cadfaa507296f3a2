// The launcher that works with each MPI, and its option for binding ranks.
#include "app/runs/launcher.hpp"

#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/process/program.hpp"
#include "comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace rollcall::app {
namespace {

enum class Family { open_mpi, mpich, cray };

Family family_of(const std::string& library) {
  if (library.find("CRAY MPICH") != std::string::npos) return Family::cray;
  // Intel MPI and MVAPICH are derived from MPICH
  return library.starts_with("Open MPI") ? Family::open_mpi : Family::mpich;
}

/// The launcher in PATH that belongs to this MPI; empty if there is none. Specific names are tried
/// first, because `mpirun` may belong to a different MPI that is installed as well.
std::string own_launcher(Family family) {
  using Names = std::array<const char*, 3>;
  const Names names = family == Family::open_mpi
                          ? Names{"mpirun.openmpi", "mpirun", "mpiexec"}
                          : Names{"mpiexec.mpich", "mpiexec.hydra", "mpiexec"};
  const auto found = std::find_if(names.begin(), names.end(), command_exists);
  return found == names.end() ? "" : *found;
}

/// --kill-on-bad-exit ends the job when one rank ends badly. Without --cpu-bind the site's default
/// would decide. SLURM_PMIX_FENCE is there because Slurm's PMIx otherwise ("mixed") chooses between
/// fences by a ring and by a tree. Now and then it lets a rank out of MPI_Init while another one
/// still waits in it, and the first message then kills that one in mca_btl_tcp. This was seen with
/// Slurm 22.05 and Open MPI 4.1.4 in 5 of 1,160 starts on two busy nodes, and in none of 1,150
/// starts with trees alone.
std::string srun(const std::string& interface, Bind bind) {
  const bool fences = interface == "pmix" && std::getenv("SLURM_PMIX_FENCE") == nullptr;
  constexpr std::array<const char*, 3> words{"--cpu-bind=none", "--cpu-bind=cores",
                                             "--cpu-bind=ldoms --mem-bind=local"};
  return fmt::format("{}srun{} --kill-on-bad-exit=1 {}", fences ? "env SLURM_PMIX_FENCE=tree " : "",
                     interface.empty() ? "" : " --mpi=" + interface, words[std::size_t(bind)]);
}

/// The command of MPI's own launcher. Without --bind-to none, Open MPI would bind each of one or
/// two ranks, with all its threads, to a single core; hydra does not bind by default.
std::string own(Family family, const LauncherFacts& facts, Bind bind) {
  const bool open = family == Family::open_mpi;
  switch (bind) {
    case Bind::none: return facts.mpi_launcher + (open ? " --bind-to none" : "");
    case Bind::core:
      return facts.mpi_launcher +
             fmt::format(
                 fmt::runtime(open ? " --map-by slot:PE={} --bind-to core" : " -bind-to core:{}"),
                 facts.cores_per_rank);
    case Bind::numa:
      return facts.mpi_launcher + (open ? " --map-by numa --bind-to numa" : " -bind-to numa");
  }
  throw ConfigError("a binding without words");
}

/// Whether the output of `srun --mpi=list`, a title and then one name per line, has this name.
bool offers(const std::string& list, std::string_view name) {
  constexpr std::string_view kBetween = " \t\n,";
  for (std::size_t at = list.find(name); at != std::string::npos; at = list.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || kBetween.find(list[at - 1]) != std::string_view::npos,
               ends = end == list.size() || kBetween.find(list[end]) != std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

Bind find_bind(const std::string& name) {
  const std::vector<std::string> names{"none", "core", "numa"};
  const auto found = std::find(names.begin(), names.end(), name);
  require<ConfigError>(found != names.end(), fmt::format("ranks cannot be bound to \"{}\"", name),
                       "the launcher has no option for it", suggest_name(name, names));
  return Bind(found - names.begin());
}

LauncherFacts launcher_facts() {
  LauncherFacts facts;
  facts.mpi_library = comm::MpiScope::library_version();
  facts.has_srun = command_exists("srun");
  if (facts.has_srun) facts.srun_plugins = output_of("srun --mpi=list 2>&1");
  facts.mpi_launcher = own_launcher(family_of(facts.mpi_library));
  if (const char* cores = std::getenv("SLURM_CPUS_PER_TASK"))
    facts.cores_per_rank = std::max(1, std::atoi(cores));
  return facts;
}

Launcher choose_launcher(const LauncherFacts& facts, Bind bind) {
  const Family family = family_of(facts.mpi_library);
  if (family == Family::cray && facts.has_srun)
    return {srun("", bind), "Cray MPICH starts under Slurm's own default"};
  const std::string interface = family == Family::open_mpi ? "pmix" : "pmi2";
  if (facts.has_srun && offers(facts.srun_plugins, interface))
    return {srun(interface, bind), fmt::format("Slurm offers {}", interface)};
  require<EnvironmentError>(!facts.mpi_launcher.empty() || facts.has_srun,
                            "there is neither srun nor a launcher for " + facts.mpi_library,
                            "ranks cannot be started here",
                            "load the module of the MPI that the program was built with");
  if (!facts.mpi_launcher.empty())
    return {
        own(family, facts, bind),
        fmt::format("Slurm offers no {} here, so ranks start inside the allocation", interface)};
  return {srun("", bind),
          fmt::format("Slurm offers no {} and {} has no launcher in PATH: Slurm's default is used",
                      interface, facts.mpi_library)};
}

}  // namespace rollcall::app
