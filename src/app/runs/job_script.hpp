// A batch script for Slurm or PBS: a template of jobs/ filled with a site's values and the runs of
// the job.
#pragma once

#include "base/text/config.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rollcall::app {

/// The values that a batch system needs to know (jobs/sites/NAME.toml). Flags of the command line
/// override single values. An empty string leaves the choice to the batch system.
struct Site {
  std::string source, batch_system = "slurm", site_template = "cpu", account, partition, qos,
                      constraint, memory, time = "01:00:00", launcher, bind = "none";
  std::int64_t tasks_per_node = 1, cpus_per_task = 1, gpus_per_node = 0, signal_s = 120;
  std::vector<std::string> setup, options;  ///< `options` are options of qsub; none for Slurm
};
inline bool is_pbs(const Site& site) { return site.batch_system == "pbs"; }

/// A value of a site that the command line can override. `key` is its name in the file; the flag is
/// --key with hyphens.
struct SiteKey {
  std::string key;
  std::variant<std::string Site::*, std::int64_t Site::*> member;
  std::string meaning;
  Range range{};
  std::vector<std::string> choices{};
  std::string flag() const;
};
const std::vector<SiteKey>& site_keys();

/// Reads a file of jobs/sites by its name, or any file by its path. Throws InputError and
/// ConfigError.
Site read_site(const std::string& name);

/// One run of a job.
struct RunOfJob {
  std::filesystem::path dir, file;    ///< the run folder, and the run file with its settings
  std::filesystem::path submitted{};  ///< file in dir with the settings that the job runs
};

struct BatchJob {
  std::string name;
  Site site;
  std::int64_t nodes = 1, at_once = 0;  ///< at_once is the number of elements of an array that may
                                        ///< run at the same time; 0 means all
  bool requeue = true;
  std::vector<RunOfJob> runs;          ///< several make a job array
  std::filesystem::path folder;        ///< of the script and the log
  std::vector<std::string> options{};  ///< options for sbatch in addition to the options of the
                                       ///< template
};

/// The script as a whole. Throws ConfigError if a value does not fit the batch system.
std::string job_script(const BatchJob& job);
/// The file in job.folder that the script is written to.
std::filesystem::path script_path(const BatchJob& job);
/// Whether its jobs have GPUs, by the site's values or an option for sbatch.
bool books_gpus(const BatchJob& job);
std::string shell_quoted(const std::string& text);

/// The line of a script that starts or continues the run.
std::string launch_line(const RunOfJob& run);
/// Seconds of a wall time in a form of sbatch(1), --time; nothing for any other text.
std::optional<std::int64_t> seconds_of(std::string_view time);
/// The template with each @NAME@ replaced, without the lines in which a value is empty.
std::string filled(const std::string& text, const std::map<std::string, std::string>& values);
/// Throws ConfigError if the value, which `what` names, holds a control character.
void require_one_line(const std::string& what, const std::string& value);

}  // namespace rollcall::app
