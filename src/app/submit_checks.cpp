// Each check is one function; what does not depend on the seed is looked at once a run file.
#include "app/submit_checks.hpp"

#include "app/install_paths.hpp"
#include "base/byte_size.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint.hpp"
#include "kernels/kernel_set.hpp"
#include "stages/coordinator_state.hpp"
#include "stages/forecast.hpp"
#include "stages/job.hpp"
#include "stages/recorded_settings.hpp"
#include "stages/run_folder.hpp"
#include "stages/start_checks.hpp"
#include "stages/start_directory.hpp"
#include "text/prompt_format.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;
constexpr int kTokenizing = 16;  // threads on a login node, which is others' too

/// Some sites have no nodes without GPUs, so idle ones are only told.
void check_numerics(const RunConfig& config, const BatchJob& job) {
  const bool on_device = config.run.numerics == kernels::kCudaBf16Sliced8, books = books_gpus(job);
  require<ConfigError>(!on_device || books, fmt::format("run.numerics is {}, but the site books no GPU", config.run.numerics), "every rank computes on one",
                       "use a site with GPUs, --gpus-per-node, --sbatch \"--gres=gpu:1\", or other numerics");
  if (books && !on_device)
    log_warning("the job books GPUs and would leave them idle, since run.numerics is {}: set run.numerics={}, or book none", config.run.numerics,
                kernels::kCudaBf16Sliced8);
}

/// The program of reward.command, found as execvp() would find it.
void check_grader(const RunConfig& config) {
  if (config.reward.command.empty()) return;
  const std::string& program = config.reward.command.front();
  const bool is_path = program.find('/') != std::string::npos;
  const bool found = is_path ? fs::is_regular_file(program) && ::access(program.c_str(), X_OK) == 0 : command_exists(program.c_str());
  require<ConfigError>(
      found, fmt::format("reward.command begins with {}, {}", program, is_path ? "which is no program that may be run here" : "which PATH does not have"),
      "no answer could be judged", "correct it, or make the file executable with chmod +x");
}

/// Ranks beyond the rollouts of a step have nothing to sample and nothing to train on.
void tell_idle_ranks(const RunConfig& config, std::int64_t ranks) {
  const std::int64_t rollouts = config.train.prompts_per_step * config.train.rollouts_per_prompt;
  if (config.train.steps > 0 && ranks > rollouts)
    log_warning("{} ranks share the {} rollouts of a step: {} of them have nothing to do in it; raise train.prompts_per_step, or book fewer", ranks, rollouts,
                ranks - rollouts);
}

stages::Forecast forecast_of(const RunConfig& config, const BatchJob& job) {
  const int ranks = int(job.nodes * job.site.tasks_per_node), on_node = int(job.site.tasks_per_node);
  const int threads = config.run.threads > 0 ? int(config.run.threads) : int(job.site.cpus_per_task);
  const text::PromptFormat format(config.text, stages::text_source(config));
  const auto models = stages::models_of(config, *format.tokenizer());
  return stages::forecast(config, models, {ranks, threads, on_node},
                          stages::longest_given(config, {ranks, std::min(comm::cores_available(), kTokenizing), false}));
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;  // files come and go while a run is alive
  for (auto entry = fs::recursive_directory_iterator(folder, ignored); entry != fs::recursive_directory_iterator(); entry.increment(ignored))
    if (entry->is_regular_file(ignored)) bytes += entry->file_size(ignored);
  return bytes;
}

/// Of all runs of the job, on the file system of their folder. An archive seldom reaches what plan
/// says, which is at the longest responses, so that much is only said.
/// What their folders hold already is not needed a second time.
void check_space(const BatchJob& job, std::uint64_t checkpoints, std::uint64_t most) {
  fs::path there = job.folder;
  struct statvfs facts {};
  while (there.has_relative_path() && ::statvfs(there.c_str(), &facts) != 0) there = there.parent_path();
  if (facts.f_frsize == 0) return;  // a file system that does not say
  std::uint64_t free = std::uint64_t(facts.f_bavail) * facts.f_frsize;
  for (const auto& run : job.runs) free += bytes_in(run.dir);
  const std::string text = fmt::format("{} has {} free", job.folder.string(), bytes_text(free));
  require<EnvironmentError>(checkpoints <= free, fmt::format("{}, and the checkpoints alone take {}", text, bytes_text(checkpoints)),
                            "the job would end when the disk is full", "free some space, choose another run.dir, or lower checkpoint.keep_last");
  if (most > free) log_warning("{}, and the run folder may take {} (at the longest responses; rollcall plan has the parts)", text, bytes_text(most));
}

struct Newest {
  std::string checkpoint{};  ///< empty: none
  std::int64_t steps = 0;    ///< done by then
};

/// What the job would go on from, as far as can be seen without reading all of it.
Newest newest_of(const fs::path& run_dir) {
  std::vector<std::string> damaged;
  auto names = io::list_checkpoints(run_dir, &damaged);
  for (; !names.empty(); names.pop_back()) {
    try {
      return {names.back(), stages::state_of(io::StoredCheckpoint(run_dir, names.back())).train_steps};
    } catch (const StorageError& fault) {
      log_warning("{}", fault.what());
    }
  }
  return {};
}

/// The settings as the job will have them: those of a run that it continues fill what is left open.
/// Refuses here, before the job waits in a queue, what it would refuse of that run.
RunConfig resolved(const RunConfig& config) {
  const Newest newest = newest_of(config.run.dir);
  stages::check_steps(config, newest.steps);
  const auto recorded = stages::recorded_settings(config.run.dir, newest.checkpoint);
  if (!recorded) return config;
  RunConfig settings = stages::as_resolved(config, *recorded);
  stages::check_same_settings(settings, newest.checkpoint);
  return settings;
}

/// The directory in which the job reads the relative paths of a run folder's own file; else the current one.
class DirectoryOf {
 public:
  explicit DirectoryOf(const RunOfJob& run) {
    if (belongs_to_folder(run.file, read_file(run.file))) (void)stages::enter_recorded_directory(run.dir);
  }
  DirectoryOf(const DirectoryOf&) = delete;
  DirectoryOf& operator=(const DirectoryOf&) = delete;
  ~DirectoryOf() {
    std::error_code gone;
    fs::current_path(here_, gone);
  }

 private:
  fs::path here_ = fs::current_path();
};

}  // namespace

void check_runs(const std::vector<RunConfig>& runs, const BatchJob& job) {
  std::uint64_t checkpoints = 0, most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DirectoryOf directory(job.runs[i]);
    const RunConfig config = resolved(runs[i]);
    (void)stages::check_start(config);
    const bool another_seed = i > 0 && job.runs[i].file == job.runs[i - 1].file;
    if (another_seed) continue;
    check_numerics(config, job);
    check_grader(config);
    (void)stages::weights_source(config);  // of run.init_from: that it is there and whole
    const auto forecast = forecast_of(config, job);
    tell_idle_ranks(config, job.nodes * job.site.tasks_per_node);
    const auto alike = std::uint64_t(std::count_if(job.runs.begin(), job.runs.end(), [&](const RunOfJob& run) { return run.file == job.runs[i].file; }));
    checkpoints += alike * forecast.checkpoint_bytes, most += alike * forecast.most_bytes;
  }
  check_space(job, checkpoints, most);
}

}  // namespace rollcall::app
