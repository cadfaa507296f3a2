// rollcall submit: a batch script from a template and a site file, handed to sbatch.
#include "app/commands.hpp"
#include "app/install_paths.hpp"
#include "base/config.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"
#include "core/run_config.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

/// A site file (jobs/sites/NAME.toml); flags of the command line replace its values.
struct Site {
  std::string source, site_template = "cpu", partition, qos, constraint, launcher, time = "01:00:00";
  std::int64_t tasks_per_node = 1, cpus_per_task = 1, gpus_per_node = 0;
  std::vector<std::string> setup;
};

struct SubmitFlags {
  std::string run_file, site = "local", account, partition, qos, constraint, time;
  std::int64_t nodes = 1, tasks_per_node = 0, cpus_per_task = 0;
  std::vector<std::string> assignments;
  bool dry_run = false;
};

Site read_site(const std::string& name) {
  const fs::path folder = jobs_folder() / "sites";
  const fs::path path = fs::exists(name) ? fs::path(name) : folder / (name + ".toml");
  std::vector<std::string> known;
  for (const auto& entry : fs::directory_iterator(folder)) known.push_back(entry.path().stem().string());
  require(fs::exists(path), fmt::format("there is no site \"{}\" in {}", name, folder.string()), "its partitions and cores are unknown", suggest_name(name, known));
  Site site;
  ConfigSchema schema;
  schema.bind("source", &site.source, "where the values are documented");
  schema.bind("template", &site.site_template, "batch script", {}, {"cpu", "gpu"});
  schema.bind("partition", &site.partition, "Slurm partition");
  schema.bind("qos", &site.qos, "Slurm quality of service");
  schema.bind("constraint", &site.constraint, "Slurm node features");
  schema.bind("tasks_per_node", &site.tasks_per_node, "ranks a node", {1, 4096});
  schema.bind("cpus_per_task", &site.cpus_per_task, "cores a rank", {1, 4096});
  schema.bind("gpus_per_node", &site.gpus_per_node, "GPUs a node", {0, 64});
  schema.bind("launcher", &site.launcher, "launcher; empty: found in the job");
  schema.bind("time", &site.time, "wall time");
  schema.bind("setup", &site.setup, "commands before the launcher");
  schema.load(path);
  return site;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

const std::string& first_set(const std::string& flag, const std::string& site) { return flag.empty() ? site : flag; }

std::map<std::string, std::string> placeholders(const SubmitFlags& flags, const Site& site, const RunConfig& config) {
  std::string setup, arguments;
  for (const auto& line : site.setup) setup += line + "\n";
  for (const auto& assignment : flags.assignments) arguments += " --set " + shell_quoted(assignment);
  return {{"JOB_NAME", "rollcall-" + fs::path(config.run.dir).filename().string()},
          {"ACCOUNT", flags.account},
          {"PARTITION", first_set(flags.partition, site.partition)},
          {"QOS", first_set(flags.qos, site.qos)},
          {"CONSTRAINT", first_set(flags.constraint, site.constraint)},
          {"NODES", std::to_string(flags.nodes)},
          {"TASKS_PER_NODE", std::to_string(flags.tasks_per_node > 0 ? flags.tasks_per_node : site.tasks_per_node)},
          {"CPUS_PER_TASK", std::to_string(flags.cpus_per_task > 0 ? flags.cpus_per_task : site.cpus_per_task)},
          {"GPUS_PER_NODE", site.gpus_per_node > 0 ? std::to_string(site.gpus_per_node) : ""},
          {"TIME", first_set(flags.time, site.time)},
          {"RUN_DIR", fs::absolute(config.run.dir).string()},
          {"RUN_FILE", fs::absolute(flags.run_file).string()},
          {"JOBS", fs::canonical(jobs_folder()).string()},
          {"ROLLCALL", executable().string()},
          {"LAUNCHER", site.launcher},
          {"SETUP", setup},
          {"ARGUMENTS", arguments}};
}

/// Replaces @NAME@; a #SBATCH line with an empty value is dropped.
std::string fill(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string script;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    bool empty = false;
    for (const auto& [name, value] : values) {
      const std::string mark = "@" + name + "@";
      for (auto at = line.find(mark); at != std::string::npos; at = line.find(mark, at + value.size())) {
        line.replace(at, mark.size(), value);
        empty = empty || value.empty();
      }
    }
    if (!(empty && line.starts_with("#SBATCH"))) script += line + "\n";
  }
  return script;
}

ExitCode run_sbatch(const fs::path& script) {
  const pid_t child = ::fork();
  require<EnvironmentError>(child >= 0, "cannot start sbatch", std::strerror(errno), "free some processes and try again");
  if (child == 0) {
    ::execlp("sbatch", "sbatch", script.c_str(), static_cast<char*>(nullptr));
    std::cerr << "rollcall: cannot run sbatch: " << std::strerror(errno) << " (the job script is handed to Slurm); run this on a login node of the cluster, or use --dry-run"
              << std::endl;
    ::_exit(int(ExitCode::misconfigured));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ExitCode::done : ExitCode::misconfigured;
}

ExitCode submit(const SubmitFlags& flags) {
  const RunConfig config = load_run_config(flags.run_file, flags.assignments);
  const Site site = read_site(flags.site);
  const std::string script = fill(read_file(jobs_folder() / (site.site_template + ".sbatch.in")), placeholders(flags, site, config));
  if (flags.dry_run) {
    std::cout << script << std::flush;
    return ExitCode::done;
  }
  stages::make_run_folder(config.run.dir);
  const fs::path path = fs::path(config.run.dir) / "job.sbatch";
  write_file_atomic(path, script);
  return run_sbatch(path);
}

}  // namespace

void add_submit(CLI::App& app, Action& action) {
  auto flags = std::make_shared<SubmitFlags>();
  auto* command = app.add_subcommand("submit", "write a batch script for the run and hand it to Slurm");
  command->add_option("run-file", flags->run_file, "TOML run file")->required();
  command->add_option("--nodes", flags->nodes, "nodes")->check(CLI::Range(1, 100000));
  command->add_option("--site", flags->site, "a file in jobs/sites, or a path");
  command->add_option("--account", flags->account, "Slurm account");
  command->add_option("--partition", flags->partition, "Slurm partition; default: the site's");
  command->add_option("--qos", flags->qos, "Slurm quality of service; default: the site's");
  command->add_option("--constraint", flags->constraint, "Slurm node features; default: the site's");
  command->add_option("--time", flags->time, "wall time, HH:MM:SS; default: the site's");
  command->add_option("--tasks-per-node", flags->tasks_per_node, "ranks a node; default: the site's")->check(CLI::Range(1, 4096));
  command->add_option("--cpus-per-task", flags->cpus_per_task, "cores a rank; default: the site's")->check(CLI::Range(1, 4096));
  command->add_option("--set", flags->assignments, "key=value over the run file; may be repeated")->allow_extra_args(false)->take_all();
  command->add_flag("--dry-run", flags->dry_run, "print the script and submit nothing");
  command->callback([flags, &action] { action = [flags] { return submit(*flags); }; });
}

}  // namespace rollcall::app
