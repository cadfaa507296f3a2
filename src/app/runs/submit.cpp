// rollcall submit: makes a batch script for one run or an array of runs, and gives it to sbatch or
// qsub once or as a chain.
#include "app/commands.hpp"
#include "app/runs/job_script.hpp"
#include "app/runs/submit_checks.hpp"
#include "app/tools/install_paths.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/process/program.hpp"
#include "base/text/json.hpp"
#include "core/run_config.hpp"
#include "core/settings_text.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"
#include "run/folder/submitted_files.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

struct SubmitFlags {
  std::vector<std::string> run_files, assignments, options;
  std::vector<std::function<void(Site&)>> site_values;  ///< set by the command line, over the site
                                                        ///< file
  std::string site = "local", seeds;
  std::int64_t nodes = 1, at_once = 0, chain = 1;
  bool no_requeue = false, dry_run = false;
};

/// Such as "1-3,7", which gives 1 2 3 7.
std::vector<std::int64_t> parse_seeds(const std::string& text) {
  constexpr std::int64_t kMost = 100000;
  const std::string problem = fmt::format("--seeds {} is not a list of seeds", text);
  const char *why = "an element of the array needs a number of its own",
             *otherwise = "write it as 1-8 or 1,2,5";
  std::vector<std::int64_t> seeds;
  const char *at = text.data(), *end = at + text.size();
  const auto number = [&] {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    require<ConfigError>(error == std::errc() && value >= 0, problem, why, otherwise);
    at = rest;
    return value;
  };
  while (at != end) {
    const std::int64_t first = number(), last = at != end && *at == '-' ? (++at, number()) : first;
    require<ConfigError>(
        first <= last && last - first < kMost && (at == end || (*at == ',' && at + 1 != end)),
        problem, why, otherwise);
    for (std::int64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
    if (at != end) ++at;
  }
  return seeds;
}

/// A run of the job, with its present settings.
struct Submitted {
  RunOfJob run;
  GivenSettings settings;
  std::string text{};  ///< of the file in the run folder
};

Submitted make_run(const std::string& file, const std::vector<std::string>& assignments,
                   std::optional<std::int64_t> seed) {
  auto all = assignments;
  if (seed) all.push_back(fmt::format("run.seed={}", *seed));
  Submitted made{{{}, fs::absolute(file)}, gather_settings(file, all), {}};
  RunConfig& config = made.settings.config;
  fs::path& dir = made.run.dir = fs::absolute(config.run.dir).lexically_normal();
  if (!dir.has_filename()) dir = dir.parent_path();  // for "runs/a/", whose last part is empty
  if (seed) dir /= fmt::format("seed_{}", *seed);
  config.run.dir = dir.string();
  return made;
}

/// Names the file of a run's settings by its content. `files` says what its files are now; a run
/// that the job continues knows that itself.
void name_text(Submitted& submitted, const std::string& files) {
  const fs::path& dir = submitted.run.dir;
  submitted.text = settings_text(submitted.settings.config) + (run::holds_run(dir) ? "" : files);
  submitted.run.submitted = dir / fmt::format("submitted-{:016x}.toml", checksum64(submitted.text));
}

/// Every run file with every seed, each in a folder of its own.
std::vector<Submitted> all_runs(const SubmitFlags& flags) {
  std::vector<Submitted> runs;
  for (const auto& file : flags.run_files) {
    const std::size_t first = runs.size();
    if (flags.seeds.empty()) runs.push_back(make_run(file, flags.assignments, {}));
    for (const std::int64_t seed : parse_seeds(flags.seeds))
      runs.push_back(make_run(file, flags.assignments, seed));
    if (first == runs.size()) continue;
    // The runs of all seeds read the same files.
    const std::string files = run::record_of_files(runs[first].settings.config);
    for (std::size_t i = first; i < runs.size(); ++i) name_text(runs[i], files);
  }
  std::set<fs::path> dirs;
  for (const auto& [run, settings, text] : runs) {
    require<ConfigError>(dirs.insert(run.dir).second || !settings.faults.are_sound({"run.dir"}),
                         "two runs of the array share the run folder " + run.dir.string(),
                         "only one job can hold a run folder at a time",
                         "give every run file a run.dir of its own, and every seed once");
  }
  return runs;
}

/// The settings of the folder's last submission; empty if there is none.
fs::path submitted_before(const fs::path& dir) {
  fs::path last;
  std::error_code unknown;
  for (const auto& entry : list_folder(dir))
    if (is_submitted(entry.path()) &&
        (last.empty() || entry.last_write_time(unknown) > fs::last_write_time(last, unknown)))
      last = entry.path();
  return last;
}

/// The settings that the jobs will run, even if the run file changes while they wait. Each set of
/// settings has a file of its own, so that a waiting job keeps its own. Files that no job has taken
/// are removed again.
class SubmittedFiles {
 public:
  explicit SubmittedFiles(const std::vector<Submitted>& runs) {
    for (const auto& [run, settings, text] : runs) {
      const RunConfig& config = settings.config;
      const bool had_folder = fs::exists(run.dir);
      run::make_run_folder(run.dir);
      if (!had_folder) folders_.push_back(run.dir);
      if (const auto before = submitted_before(run.dir); !before.empty() && before != run.submitted)
        for (const auto& c : run::changed_keys(read_run_config(before), config))
          log_warning(
              "{} was {} in the last submission of {} and is {}; a job that still waits keeps its "
              "own",
              c.key, c.before, run.dir.string(), c.now);
      if (!fs::exists(run.submitted)) files_.push_back(run.submitted);
      write_file_atomic(run.submitted, text);
    }
  }
  SubmittedFiles(const SubmittedFiles&) = delete;
  SubmittedFiles& operator=(const SubmittedFiles&) = delete;
  ~SubmittedFiles() {
    std::error_code left;  // a folder that holds anything else is not removed
    for (const auto& path : files_) fs::remove(path, left);
    for (const auto& path : folders_) fs::remove(path, left);
  }
  void add(const fs::path& path) {
    if (!fs::exists(path)) files_.push_back(path);
  }
  void keep() { files_.clear(), folders_.clear(); }

 private:
  std::vector<fs::path> files_{}, folders_{};
};

/// The deepest folder that holds all run folders, because an array has one script.
fs::path common_folder(const std::vector<RunOfJob>& runs) {
  fs::path common = runs.front().dir;
  for (const auto& run : runs) {
    fs::path shared;
    for (auto a = common.begin(), b = run.dir.begin();
         a != common.end() && b != run.dir.end() && *a == *b; ++a, ++b)
      shared /= *a;
    common = shared;
  }
  require<ConfigError>(common.has_relative_path(),
                       "the run folders of the array have no folder in common",
                       "its script and its logs would be put into /",
                       "choose run.dir below one folder, or submit the runs one by one");
  return common;
}

/// Prints a warning if Slurm's nodes cannot see the folder: one in memory or for temporary files of
/// the login node.
void tell_hidden_folder(const fs::path& folder) {
  struct statfs facts {};
  fs::path there = folder;
  while (there.has_relative_path() && ::statfs(there.c_str(), &facts) != 0)
    there = there.parent_path();
  const bool in_memory = facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
  const auto is_below = [&](const fs::path& top) {
    return std::mismatch(top.begin(), top.end(), folder.begin(), folder.end()).first == top.end();
  };
  if (in_memory || is_below("/tmp") || is_below("/var/tmp"))
    log_warning(
        "run.dir is in {}, which is usually this machine's own: a job on another node would find "
        "no run there; name a folder that all nodes share",
        folder.string());
}

/// Runs sbatch or qsub and returns the number of the job; its errors go to the terminal.
std::string hand_over(const BatchJob& job, const std::string& after) {
  const bool pbs = is_pbs(job.site);
  const std::string program = pbs ? "qsub" : "sbatch", system = pbs ? "PBS" : "Slurm";
  const fs::path script = script_path(job);
  require<EnvironmentError>(command_exists(program.c_str()),
                            fmt::format("cannot run {}: it is not in PATH", program),
                            fmt::format("the job script is handed to {}", system),
                            "run this on a login node of the cluster, or use --dry-run");
  std::string command = pbs ? "qsub" : "sbatch --parsable";
  if (!after.empty())
    command += (pbs ? " -W depend=afterany:" : " --dependency=afterany:") + shell_quoted(after);
  FILE* const pipe = ::popen((command + " " + shell_quoted(script.string())).c_str(), "r");
  require<EnvironmentError>(pipe != nullptr, fmt::format("cannot start {}", program),
                            fmt::format("the job script is handed to {}", system),
                            "free some processes and try again");
  std::array<char, 256> buffer{};
  std::string text;
  while (std::fgets(buffer.data(), buffer.size(), pipe)) text += buffer.data();
  const int status = ::pclose(pipe);
  require<EnvironmentError>(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                            fmt::format("{} refused {}", program, script.string()),
                            "no job was created", "see its own output above");
  return text.substr(0, text.find_first_of(";\n"));  // sbatch prints ID or ID;cluster
}

/// A job with its script and the settings of its runs.
struct Batch {
  BatchJob job;
  std::vector<GivenSettings> settings;
  std::string script{};
};

/// Under Slurm all runs are one job, which is an array if there are several. Under PBS each run is
/// a separate job, because a job that continues submits its script again, which would begin a whole
/// array.
std::vector<Batch> batches_of(const SubmitFlags& flags, const std::vector<Submitted>& submitted) {
  BatchJob common;
  common.site = read_site(flags.site);
  for (const auto& set_value : flags.site_values) set_value(common.site);
  common.options = flags.options;
  common.nodes = flags.nodes, common.at_once = flags.at_once;
  common.requeue = !flags.no_requeue && flags.chain == 1;  // in a chain, the next job continues the
                                                           // run
  std::vector<Batch> batches;
  for (const auto& [run, given, text] : submitted) {
    if (batches.empty() || is_pbs(common.site)) batches.push_back({common, {}});
    batches.back().job.runs.push_back(run);
    batches.back().settings.push_back(given);
  }
  for (auto& [job, settings, script] : batches) {
    job.folder = common_folder(job.runs);
    job.name = "rollcall-" + job.folder.filename().string();
    script = job_script(job);
  }
  return batches;
}

void submit_chain(const BatchJob& job, std::int64_t jobs, SubmittedFiles& files) {
  std::string before;
  for (std::int64_t i = 0; i < jobs; ++i) {
    const std::string id = hand_over(job, before);
    files.keep();
    print_visible("Submitted batch job {}{}\n", id,
                  before.empty() ? "" : ", to start when " + before + " has ended");
    std::fflush(stdout);
    before = id;
  }
}

ExitCode submit(const SubmitFlags& flags) {
  const auto submitted = all_runs(flags);
  auto batches = batches_of(flags, submitted);
  for (auto& [job, settings, script] : batches) {
    tell_hidden_folder(job.folder);
    check_runs(std::move(settings), job);
    if (flags.dry_run) std::cout << script << std::flush;
  }
  if (flags.dry_run) return ExitCode::done;
  SubmittedFiles files(submitted);
  for (const auto& batch : batches) {
    files.add(script_path(batch.job));
    write_file_atomic(script_path(batch.job), batch.script);
  }
  for (const auto& batch : batches) submit_chain(batch.job, flags.chain, files);
  return ExitCode::done;
}

/// Adds one flag per value of a site file.
void add_site_flags(Command command, const std::shared_ptr<SubmitFlags>& flags) {
  for (const SiteKey& key : site_keys()) {
    const std::string meaning = key.meaning + " (site file)";
    if (const auto* number = std::get_if<std::int64_t Site::*>(&key.member)) {
      command
          .option(
              key.flag(),
              [flags, m = *number](std::int64_t value) {
                flags->site_values.push_back([=](Site& s) { s.*m = value; });
              },
              meaning)
          .range(std::int64_t(key.range.low), std::int64_t(key.range.high));
      continue;
    }
    const auto member = std::get<std::string Site::*>(key.member);
    auto option = command.option(
        key.flag(),
        [flags, member](const std::string& value) {
          flags->site_values.push_back([=](Site& s) { s.*member = value; });
        },
        meaning);
    if (!key.choices.empty()) option.one_of(key.choices);
  }
}

}  // namespace

void add_submit(Command program) {
  auto flags = std::make_shared<SubmitFlags>();
  auto command = program.command(
      "submit",
      "write a batch script for the run and hand it to Slurm, or to PBS where the site file says so "
      "(not tried on a PBS server)");
  command.option("run-file", flags->run_files, "TOML run file; several make a job array")
      .required();
  command.option(
      "--seeds", flags->seeds,
      "1-8 or 1,2,5: a job array with one element per seed, each in its own folder below run.dir");
  command
      .option("--at-once", flags->at_once,
              "elements of an array that may run at the same time; default: all")
      .range(1, 100000);
  command
      .option("--chain", flags->chain,
              "jobs one after the other, each continuing the run, instead of one that is requeued")
      .range(1, 1000);
  command.flag("--no-requeue", flags->no_requeue, "do not requeue a stopped job");
  command.option("--nodes", flags->nodes, "nodes").range(1, 100000);
  command.option("--site", flags->site, "a file in jobs/sites, or a path");
  add_site_flags(command, flags);
  command.option("--set", flags->assignments, "key=value, overrides the run file; may be repeated")
      .repeated();
  command
      .option("--sbatch", flags->options,
              "another option of sbatch, as --sbatch \"--mail-type=END\"; may be repeated")
      .repeated();
  command.flag("--dry-run", flags->dry_run, "print the script and submit nothing");
  command.runs([flags] { return submit(*flags); });
}

}  // namespace rollcall::app
