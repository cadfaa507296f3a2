// Turns a site's values into options of qsub(1B) and resources of pbs_resources(7B), OpenPBS.
#include "app/runs/pbs_script.hpp"

#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

namespace rollcall::app {
namespace fs = std::filesystem;
namespace {

/// qsub describes no quotes within its directives.
void require_plain(const std::string& what, const std::string& value) {
  const bool is_plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("._/+=@-").find(char(c)) != std::string::npos;
  });
  require<ConfigError>(is_plain,
                       fmt::format("{} \"{}\" holds a character that PBS may read", what, value),
                       "a directive of PBS has no quotes", "use letters, digits and . _ / + = @ -");
}

/// "64G" of a site file as PBS writes it: 64gb. Empty for all of a node's memory.
std::string pbs_memory(std::string memory) {
  if (memory.empty() || memory == "0") return "";
  require_plain("--memory", memory);
  std::transform(memory.begin(), memory.end(), memory.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (std::isdigit(static_cast<unsigned char>(memory.back())) != 0) memory += 'm';  // as in Slurm
  return memory.back() == 'b' ? memory : memory + 'b';
}

/// One chunk a node.
std::string chunks(const BatchJob& job) {
  const Site& site = job.site;
  std::string text = fmt::format("{}:ncpus={}:mpiprocs={}", job.nodes,
                                 site.tasks_per_node * site.cpus_per_task, site.tasks_per_node);
  if (site.gpus_per_node > 0) text += fmt::format(":ngpus={}", site.gpus_per_node);
  if (const std::string memory = pbs_memory(site.memory); !memory.empty()) text += ":mem=" + memory;
  return text;
}

void check_values(const BatchJob& job) {
  const Site& site = job.site;
  expect(job.runs.size() == 1, "a PBS job has one run");
  require<ConfigError>(
      site.qos.empty() && site.constraint.empty(),
      "a quality of service or a constraint is set, and the site's batch system is PBS",
      "PBS has neither",
      "leave them empty; a resource goes into the site file, as options = [\"-l NAME=VALUE\"]");
  require<ConfigError>(job.options.empty(), "--sbatch is given, and the site's batch system is PBS",
                       "it names an option of Slurm",
                       "write options of qsub into the site file, as options = [\"-m e\"]");
  require<ConfigError>(job.at_once == 0, "--at-once is given, and the site's batch system is PBS",
                       "there each run is a job of its own, and no array", "leave it out");
  require_plain("run.dir", job.folder.string());
  require_plain("--account", site.account);
  require_plain("--partition", site.partition);
  for (const std::string& option : site.options) {
    require_one_line("an option of the site file", option);
    require<ConfigError>(
        option.starts_with('-'),
        fmt::format("\"{}\" among the site's options is no option of qsub", option),
        "it becomes a directive of the script", "write it as \"-l NAME=VALUE\"");
  }
}

}  // namespace

std::string pbs_script(const BatchJob& job) {
  check_values(job);
  const Site& site = job.site;
  const auto wall_s = seconds_of(site.time);
  require<ConfigError>(
      wall_s.has_value(), fmt::format("the wall time \"{}\" cannot be read", site.time),
      "PBS is told the time, and the job when to stop before it", "write it as HH:MM:SS");
  std::string setup, options;
  for (const auto& line : site.setup) setup += (setup.empty() ? "" : "\n") + line;
  for (const auto& option : site.options)
    options += (options.empty() ? "#PBS " : "\n#PBS ") + option;
  const fs::path jobs = fs::canonical(jobs_folder());
  const std::map<std::string, std::string> values{
      {"JOB_NAME", job.name},
      {"ACCOUNT", site.account},
      {"QUEUE", site.partition},
      {"SELECT", chunks(job)},
      {"WALL_TIME",
       fmt::format("{:02}:{:02}:{:02}", *wall_s / 3600, *wall_s / 60 % 60, *wall_s % 60)},
      {"WALL_S", std::to_string(*wall_s)},
      {"LOG_FOLDER", job.folder.string() + "/"},  // a folder: PBS names the file after the job
      {"RERUNNABLE", job.requeue ? "y" : "n"},
      {"SIGNAL_S", std::to_string(site.signal_s)},
      {"RANKS", std::to_string(job.nodes * site.tasks_per_node)},
      {"CPUS_PER_TASK", std::to_string(site.cpus_per_task)},
      {"OPTIONS", options},
      {"SETUP", setup},
      {"LAUNCH", shell_quoted((jobs / "launch.bash").string())},
      {"PBS", shell_quoted((jobs / "pbs.bash").string())},
      {"SCRIPT", shell_quoted(script_path(job).string())},
      {"LAUNCHER", shell_quoted(site.launcher)},
      {"BIND", site.bind},
      {"REQUEUE", job.requeue ? "yes" : "no"},
      {"RUNS", launch_line(job.runs.front())}};
  return filled(read_file(jobs / "pbs.qsub.in"), values);
}

}  // namespace rollcall::app
