// Turns the [sandbox] section of a run file into the limits of the sandbox.
#include "app/tools/start_sandbox.hpp"

#include "base/errors/error.hpp"
#include "base/text/byte_size.hpp"
#include "environment/chosen.hpp"
#include "sandbox/sandbox.hpp"
#include "task/answer_source.hpp"
#include "task/task.hpp"

#include <optional>

namespace rollcall::app {
namespace {

sandbox::Setup setup_of(const SandboxSection& s) {
  const sandbox::Limits limits{s.cpu_s,
                               s.wall_s,
                               parse_bytes(s.memory, "sandbox.memory"),
                               parse_bytes(s.output, "sandbox.output"),
                               parse_bytes(s.files, "sandbox.files"),
                               s.processes};
  return {limits, s.allow_landlock, int(s.workers)};
}

/// The settings of the run file; nothing if the job will refuse them.
std::optional<RunConfig> readable(const std::string& run_file,
                                  const std::vector<std::string>& assignments) {
  try {
    RunConfig config = load_run_config(run_file, assignments);
    (void)reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier);
    (void)setup_of(config.sandbox), (void)environment::needs_sandbox(config);
    return config;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool verdicts_run_code(const RunConfig& config) {
  if (!config.reward.command.empty()) return false;
  const std::string fitting = task::fitting_verifier(config.task, config.reward);
  return reward::runs_code(reward::find_verifier(
      fitting.empty() ? task::find_task(config.task.name).verifier : fitting));
}

}  // namespace

void start_sandbox(const SandboxSection& section) { sandbox::start(setup_of(section)); }

void start_sandbox(const reward::Verifier& verifier, const SandboxSection& section) {
  if (reward::runs_code(verifier)) start_sandbox(section);
}

void start_sandbox(const std::string& run_file, const std::vector<std::string>& assignments) {
  const auto config = readable(run_file, assignments);
  if (config && (environment::needs_sandbox(*config) || verdicts_run_code(*config)))
    start_sandbox(config->sandbox);
}

}  // namespace rollcall::app
