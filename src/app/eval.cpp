// rollcall eval: pass@k and maj@k of a checkpoint or model folder on the held-out prompts.
#include "app/commands.hpp"
#include "app/job_world.hpp"
#include "app/start_sandbox.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain_file.hpp"
#include "base/visible.hpp"
#include "core/run_config.hpp"
#include "stages/rank.hpp"
#include "stages/run_folder.hpp"
#include "stages/start_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::app {
namespace {

struct EvalFlags {
  std::string weights, run_file, out;
  std::vector<std::string> assignments;
};

namespace fs = std::filesystem;

/// A run folder brings its own settings. Anything else needs a run file: which questions are asked,
/// and who judges, is in no model folder.
std::string settings_of(const EvalFlags& flags) {
  if (!flags.run_file.empty()) return flags.run_file;
  const auto config = stages::run_with(flags.weights) / "config.toml";
  if (fs::exists(config)) return config.string();
  const bool asks = std::any_of(flags.assignments.begin(), flags.assignments.end(),
                                [](const std::string& set) { return set.starts_with("task.file") || set.starts_with("task.name"); });
  require<ConfigError>(asks, fmt::format("{} is no run of Rollcall, and there is no --run-file", flags.weights),
                       "a model folder does not say which questions to ask and who judges the answers",
                       "name a run file: rollcall eval FOLDER --run-file RUN.toml; or the questions alone: --set task.file=QUESTIONS.jsonl, of which a "
                       "tenth is held out, and --set task.heldout_file=OTHERS.jsonl for all rows of another file");
  return "";
}

/// Settings of a run are read in the directory in which it was started. The command line names what
/// it names from here.
void enter_directory(EvalFlags& flags) {
  if (!flags.run_file.empty()) return;
  const auto run = stages::run_with(flags.weights);
  if (run.empty()) return;
  const fs::path whole = fs::absolute(run);
  flags.weights = fs::absolute(flags.weights).lexically_normal().string();
  if (!flags.out.empty()) flags.out = fs::absolute(flags.out).lexically_normal().string();
  const fs::path here = fs::current_path();
  if (const auto said = stages::enter_recorded_directory(whole); !said.empty() && !launched_by_mpi()) log_info("{}", said);
  flags.assignments = stages::assignments_from(flags.assignments, here, fs::current_path());
}

/// A run folder may come from anybody, and its settings name a program of this machine.
void tell_command(const std::string& run_file, const std::vector<std::string>& assignments) {
  std::string words;
  const RunConfig config = load_run_config(run_file, assignments);
  for (const auto& word : config.reward.command) words += visible_format("{}\"{}\"", words.empty() ? "" : " ", word);
  fmt::print(stderr,
             "rollcall: reward.command of {} judges the answers: {} is about to be run, as you. --set 'reward.command=[]' judges by the task's verifier\n",
             visible(run_file), words);
}

}  // namespace

void add_eval(Command program, const Arguments& arguments) {
  auto flags = std::make_shared<EvalFlags>();
  auto command = program.command("eval", "pass@k and maj@k on held-out prompts, with bootstrap intervals");
  command.option("weights", flags->weights, "RUN, RUN@STEP, RUN@CHECKPOINT or a folder with config.json and model.safetensors").required();
  command.option("--run-file", flags->run_file, "run file with task, verifier and sampling; default: that of the run folder");
  command.option("--out", flags->out, "folder for the rollouts and eval.json; default: WEIGHTS/eval-<name>");
  command.option("--set", flags->assignments, "key=value, overrides a setting; may be repeated").repeated();
  command.runs([flags, arguments] {
    enter_directory(*flags);
    const auto folder = stages::checkpoint_folder(flags->weights);
    const auto settings = settings_of(*flags);
    const auto run = settings.empty() || !flags->run_file.empty() ? stages::run_of(flags->weights) : stages::run_with(flags->weights);
    std::vector<std::string> assignments = flags->run_file.empty() ? stages::kept_settings(run) : std::vector<std::string>();
    assignments.insert(assignments.end(), flags->assignments.begin(), flags->assignments.end());
    const auto own = run / ("eval-" + folder.filename().string());
    require<EnvironmentError>(!flags->out.empty() || !is_link(own), fmt::format("{} is a symbolic link", own.string()),
                              "the rollouts would end in another's folder", "remove the link, or name a folder by --out");
    assignments.push_back("run.dir=" + (flags->out.empty() ? own.string() : flags->out));
    const auto spawner = make_spawner(settings, assignments);
    const stages::JobRequest request{stages::JobKind::eval,  settings,        assignments,  stages::Start::anew, {},
                                     version_with_libraries, folder.string(), spawner.get()};
    start_sandbox(settings, assignments);
    const JobWorld world(arguments);
    if (flags->run_file.empty() && spawner && world.communicator().rank() == 0) tell_command(settings, assignments);
    return stages::run_job(world.communicator(), request);
  });
}

}  // namespace rollcall::app
