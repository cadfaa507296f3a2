// rollcall eval: pass@k and maj@k of a checkpoint or model folder on the held-out prompts.
#include "app/commands.hpp"
#include "app/job_world.hpp"
#include "app/start_sandbox.hpp"
#include "stages/rank.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace rollcall::app {
namespace {

struct EvalFlags {
  std::string weights, run_file, out;
  std::vector<std::string> assignments;
};

/// A run folder brings its own settings; anything else needs a run file, or takes the defaults.
std::string settings_of(const EvalFlags& flags) {
  if (!flags.run_file.empty()) return flags.run_file;
  const auto config = stages::run_of(flags.weights) / "config.toml";
  return std::filesystem::exists(config) ? config.string() : "";
}

}  // namespace

void add_eval(CLI::App& app, const Arguments& arguments, Action& action) {
  auto flags = std::make_shared<EvalFlags>();
  auto* command = app.add_subcommand("eval", "pass@k and maj@k on held-out prompts, with bootstrap intervals");
  command->add_option("weights", flags->weights, "RUN, RUN@STEP, RUN@CHECKPOINT or a folder with config.json and model.safetensors")->required();
  command->add_option("--run-file", flags->run_file, "settings; default: those of the run folder");
  command->add_option("--out", flags->out, "folder for the rollouts and eval.json; default: WEIGHTS/eval-<name>");
  command->add_option("--set", flags->assignments, "key=value, overrides a setting; may be repeated")->allow_extra_args(false)->take_all();
  command->callback([flags, arguments, &action] {
    action = [flags, arguments] {
      const auto folder = stages::checkpoint_folder(flags->weights);
      const auto run = stages::run_of(flags->weights);
      std::vector<std::string> assignments = flags->run_file.empty() ? stages::kept_settings(run) : std::vector<std::string>();
      assignments.insert(assignments.end(), flags->assignments.begin(), flags->assignments.end());
      assignments.push_back("run.dir=" + (flags->out.empty() ? (run / ("eval-" + folder.filename().string())).string() : flags->out));
      const auto spawner = make_spawner(settings_of(*flags), assignments);
      const stages::JobRequest request{stages::JobKind::eval, settings_of(*flags), assignments, false, version_with_libraries, folder.string(), spawner.get()};
      start_sandbox(settings_of(*flags), assignments);
      const JobWorld world(arguments);
      return stages::run_job(world.communicator(), request);
    };
  });
}

}  // namespace rollcall::app
