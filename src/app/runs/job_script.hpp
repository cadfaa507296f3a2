// A batch script: a template of jobs/, filled with a site's values and the runs of the job.
#pragma once

#include "base/config.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::app {

/// What a machine wants to hear (jobs/sites/NAME.toml); flags of the command line replace single
/// values. Empty strings leave the choice to Slurm.
struct Site {
  std::string source, site_template = "cpu", account, partition, qos, constraint, memory,
                      time = "01:00:00", launcher, bind = "none";
  std::int64_t tasks_per_node = 1, cpus_per_task = 1, gpus_per_node = 0, signal_s = 120;
  std::vector<std::string> setup;
};

/// A value of a site that the command line can replace: `key` of the file, --key with hyphens as
/// the flag.
struct SiteKey {
  std::string key;
  std::variant<std::string Site::*, std::int64_t Site::*> member;
  std::string meaning;
  Range range{};
  std::vector<std::string> choices{};
  std::string flag() const;
};
const std::vector<SiteKey>& site_keys();

/// A file in jobs/sites by its name, or by its path. Throws InputError, ConfigError.
Site read_site(const std::string& name);

/// One element of a job.
struct RunOfJob {
  std::filesystem::path dir, file;    ///< the run folder, and the run file that its settings came
                                      ///< from
  std::filesystem::path submitted{};  ///< what the job runs: these settings, in a file of their own
                                      ///< in dir
};

struct BatchJob {
  std::string name;
  Site site;
  std::int64_t nodes = 1, at_once = 0;  ///< at_once: elements of an array that may run at the same
                                        ///< time; 0: all
  bool requeue = true;
  std::vector<RunOfJob> runs;          ///< more than one: a job array
  std::filesystem::path folder;        ///< of script and log
  std::vector<std::string> options{};  ///< of sbatch, beside those that the template has
};

std::string job_script(const BatchJob& job);
/// Whether its jobs have GPUs, by the site's values or an option of sbatch.
bool books_gpus(const BatchJob& job);
std::string shell_quoted(const std::string& text);

}  // namespace rollcall::app
