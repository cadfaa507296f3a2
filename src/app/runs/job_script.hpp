// A batch script: a template of jobs/ filled with a site's values and the runs of the job.
#pragma once

#include "base/text/config.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::app {

/// What must be known of a machine to write a job for it (jobs/sites/NAME.toml). Flags of the
/// command line override single values. An empty string leaves the choice to Slurm.
struct Site {
  std::string source, site_template = "cpu", account, partition, qos, constraint, memory,
                      time = "01:00:00", launcher, bind = "none";
  std::int64_t tasks_per_node = 1, cpus_per_task = 1, gpus_per_node = 0, signal_s = 120;
  std::vector<std::string> setup;
};

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
  std::vector<std::string> options{};  ///< options for sbatch in addition to those of the template
};

std::string job_script(const BatchJob& job);
/// Whether its jobs have GPUs, by the site's values or an option for sbatch.
bool books_gpus(const BatchJob& job);
std::string shell_quoted(const std::string& text);

}  // namespace rollcall::app
