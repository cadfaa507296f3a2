// Each check is one function. Checks that do not depend on the seed are made once per run file.
#include "app/runs/submit_checks.hpp"

#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/text/byte_size.hpp"
#include "comm/communicator.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint.hpp"
#include "kernels/kernel_set.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/context/models_of.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/start_directory.hpp"
#include "run/start/draft.hpp"
#include "sizing/forecast.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;
constexpr int kTokenizing = 16;  // threads on a login node, which other users need as well

/// Refuses run.numerics that need a GPU on a site without GPUs. GPUs without use are only
/// mentioned, because some sites have no other nodes.
void check_numerics(const RunConfig& config, const BatchJob& job) {
  const bool on_device = config.run.numerics == kernels::kCudaBf16Sliced8, books = books_gpus(job);
  require<ConfigError>(
      !on_device || books,
      fmt::format("run.numerics is {}, but the site books no GPU", config.run.numerics),
      "every rank computes on one",
      "use a site with GPUs, --gpus-per-node, --sbatch \"--gres=gpu:1\", or other numerics");
  if (books && !on_device)
    log_warning(
        "the job books GPUs and would leave them idle, since run.numerics is {}: set "
        "run.numerics={}, or book none",
        config.run.numerics, kernels::kCudaBf16Sliced8);
}

/// Mentions ranks that would have nothing to sample and nothing to train on, because a step has too
/// few rollouts.
void tell_idle_ranks(const RunConfig& config, std::int64_t ranks) {
  const std::int64_t rollouts = config.train.prompts_per_step * config.train.rollouts_per_prompt;
  if (config.train.steps > 0 && ranks > rollouts)
    log_warning(
        "{} ranks share the {} rollouts of a step: {} of them have nothing to do in it; raise "
        "train.prompts_per_step, or book fewer",
        ranks, rollouts, ranks - rollouts);
}

run::RankShape tokenizing_shape(const BatchJob& job) {
  return {int(job.nodes * job.site.tasks_per_node), std::min(comm::cores_available(), kTokenizing),
          false};
}

sizing::Forecast forecast_of(const RunConfig& config, const run::RunContext& draft,
                             const BatchJob& job) {
  const int ranks = int(job.nodes * job.site.tasks_per_node),
            on_node = int(job.site.tasks_per_node);
  const int threads =
      config.run.threads > 0 ? int(config.run.threads) : int(job.site.cpus_per_task);
  return sizing::forecast(config, draft.models, {ranks, threads, on_node}, run::longest_of(draft));
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;  // files come and go while a run is alive
  for (auto entry = fs::recursive_directory_iterator(folder, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored))
    if (entry->is_regular_file(ignored)) bytes += entry->file_size(ignored);
  return bytes;
}

/// Checks the free space for all runs of the job on the file system of their folders. An archive
/// seldom becomes as large as plan says, which assumes the longest responses, so that part is only
/// mentioned. What the folders hold already is not counted again.
void check_space(const BatchJob& job, std::uint64_t checkpoints, std::uint64_t most) {
  fs::path there = job.folder;
  struct statvfs facts {};
  while (there.has_relative_path() && ::statvfs(there.c_str(), &facts) != 0)
    there = there.parent_path();
  if (facts.f_frsize == 0) return;  // the file system does not tell its size
  std::uint64_t free = std::uint64_t(facts.f_bavail) * facts.f_frsize;
  for (const auto& run : job.runs) free += bytes_in(run.dir);
  const std::string text = fmt::format("{} has {} free", job.folder.string(), bytes_text(free));
  require<EnvironmentError>(
      checkpoints <= free,
      fmt::format("{}, and the checkpoints alone take {}", text, bytes_text(checkpoints)),
      "the job would end when the disk is full",
      "free some space, choose another run.dir, or lower checkpoint.keep_last");
  if (most > free)
    log_warning(
        "{}, and the run folder may take {} (at the longest responses; rollcall plan has the "
        "parts)",
        text, bytes_text(most));
}

struct Newest {
  std::string checkpoint{};  ///< empty if there is none
  std::int64_t steps = 0;    ///< steps done at that checkpoint
};

/// The checkpoint that the job would continue from, as far as can be seen without reading all of
/// it.
Newest newest_of(const fs::path& run_dir) {
  std::vector<std::string> damaged;
  auto names = io::list_checkpoints(run_dir, &damaged);
  for (; !names.empty(); names.pop_back()) {
    try {
      return {names.back(), run::state_of(io::StoredCheckpoint(run_dir, names.back())).train_steps};
    } catch (const StorageError& fault) {
      log_warning("{}", fault.what());
    }
  }
  return {};
}

/// The settings that the job will have. Settings that are not set come from the run that the job
/// continues. Settings that the job would refuse for that run are refused here, before it waits in
/// a queue.
RunConfig resolved(const RunConfig& config) {
  const Newest newest = newest_of(config.run.dir);
  run::check_steps(config, newest.steps);
  const auto recorded = run::recorded_settings(config.run.dir, newest.checkpoint);
  if (!recorded) return config;
  RunConfig settings = run::as_resolved(config, *recorded);
  run::check_same_settings(settings, newest.checkpoint);
  return settings;
}

/// Changes to the directory in which the job will read the relative paths of a run folder's own
/// file, and back.
class DirectoryOf {
 public:
  explicit DirectoryOf(const RunOfJob& run) {
    if (belongs_to_folder(run.file, read_file(run.file)))
      (void)run::enter_recorded_directory(run.dir);
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

void check_runs(std::vector<GivenSettings> runs, const BatchJob& job) {
  Faults faults;
  std::uint64_t checkpoints = 0, most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DirectoryOf directory(job.runs[i]);
    auto& [given, own] = runs[i];
    if (own.empty()) own.check({}, [&] { given = resolved(given); });
    const bool another_seed = i > 0 && job.runs[i].file == job.runs[i - 1].file;
    if (another_seed) {
      (void)run::check_start(given, run::JobKind::train, own);
      faults.join(own);
      continue;
    }
    own.check({"run.numerics"}, [&] { check_numerics(given, job); });
    const auto draft = run::make_draft(given, tokenizing_shape(job), run::JobKind::train, own);
    faults.join(own);
    if (!own.empty()) continue;
    const auto forecast = forecast_of(given, draft.context, job);
    tell_idle_ranks(given, job.nodes * job.site.tasks_per_node);
    const auto alike =
        std::uint64_t(std::count_if(job.runs.begin(), job.runs.end(), [&](const RunOfJob& run) {
          return run.file == job.runs[i].file;
        }));
    checkpoints += alike * forecast.checkpoint_bytes, most += alike * forecast.most_bytes;
  }
  faults.require_none();
  check_space(job, checkpoints, most);
}

}  // namespace rollcall::app
