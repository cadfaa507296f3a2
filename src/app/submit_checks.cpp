// Each check is one function; what does not depend on the seed is looked at once a run file.
#include "app/submit_checks.hpp"

#include "app/install_paths.hpp"
#include "base/byte_size.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "kernels/kernel_set.hpp"
#include "stages/forecast.hpp"
#include "stages/job.hpp"
#include "stages/recorded_settings.hpp"
#include "stages/run_folder.hpp"
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

void check_numerics(const RunConfig& config, const Site& site) {
  const bool on_device = config.run.numerics == kernels::kCudaBf16Sliced8;
  require<ConfigError>(on_device || site.gpus_per_node == 0,
                       fmt::format("the site books {} GPUs a node, but run.numerics is {}", site.gpus_per_node, config.run.numerics),
                       "the run would compute on the processors and leave the GPUs idle",
                       fmt::format("set run.numerics={}, or book none: --gpus-per-node 0, or a site without GPUs", kernels::kCudaBf16Sliced8));
  require<ConfigError>(!on_device || site.gpus_per_node > 0, fmt::format("run.numerics is {}, but the site books no GPU", config.run.numerics),
                       "every rank computes on one", "use a site with GPUs, --gpus-per-node, or other numerics");
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
    spdlog::warn("{} ranks share the {} rollouts of a step: {} of them have nothing to do in it; raise train.prompts_per_step, or book fewer", ranks, rollouts,
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
void check_space(const fs::path& folder, std::uint64_t checkpoints, std::uint64_t most) {
  fs::path there = folder;
  struct statvfs facts {};
  while (there.has_relative_path() && ::statvfs(there.c_str(), &facts) != 0) there = there.parent_path();
  if (facts.f_frsize == 0) return;  // a file system that does not say
  const std::uint64_t free = std::uint64_t(facts.f_bavail) * facts.f_frsize + bytes_in(folder);
  const std::string text = fmt::format("{} has {} free", folder.string(), bytes_text(free));
  require<EnvironmentError>(checkpoints <= free, fmt::format("{}, and the checkpoints alone take {}", text, bytes_text(checkpoints)),
                            "the job would end when the disk is full", "free some space, choose another run.dir, or lower checkpoint.keep_last");
  if (most > free) spdlog::warn("{}, and the run folder may take {} (at the longest responses; rollcall plan has the parts)", text, bytes_text(most));
}

/// Refuses settings that differ from those of the run in the folder, before its job waits in a queue.
void check_folder(const RunConfig& config) {
  const auto recorded = stages::recorded_settings(config.run.dir);
  if (recorded) stages::check_same_settings(stages::as_resolved(config, *recorded));
}

}  // namespace

void check_runs(const std::vector<RunConfig>& runs, const BatchJob& job) {
  std::uint64_t checkpoints = 0, most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    check_folder(runs[i]);
    const bool another_seed = i > 0 && job.runs[i].file == job.runs[i - 1].file;
    if (another_seed) continue;
    check_numerics(runs[i], job.site);
    check_grader(runs[i]);
    (void)stages::weights_source(runs[i]);  // of run.init_from: that it is there and whole
    const auto forecast = forecast_of(runs[i], job);
    tell_idle_ranks(runs[i], job.nodes * job.site.tasks_per_node);
    const auto alike = std::uint64_t(std::count_if(job.runs.begin(), job.runs.end(), [&](const RunOfJob& run) { return run.file == job.runs[i].file; }));
    checkpoints += alike * forecast.checkpoint_bytes, most += alike * forecast.most_bytes;
  }
  check_space(job.folder, checkpoints, most);
}

}  // namespace rollcall::app
