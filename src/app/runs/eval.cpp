// rollcall eval: pass@k and maj@k of a checkpoint or model folder on the held-out prompts.
#include "app/commands.hpp"
#include "app/runs/job_world.hpp"
#include "app/tools/start_sandbox.hpp"
#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/plain_file.hpp"
#include "core/run_config.hpp"
#include "run/folder/run_folder.hpp"
#include "run/folder/start_directory.hpp"
#include "run/rank.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::app {
namespace {

struct EvalFlags {
  std::string weights, run_file, out;
  std::vector<std::string> assignments;
};

namespace fs = std::filesystem;

/// The value that an assignment gives to `key`; nothing if it assigns to another key.
std::optional<std::string> value_for(const std::string& assignment, std::string_view key) {
  const std::size_t sign = std::min(assignment.find('='), assignment.size());
  if (text::trim(std::string_view(assignment).substr(0, sign)) != key) return std::nullopt;
  return assignment.substr(std::min(sign + 1, assignment.size()));
}

bool is_set(const EvalFlags& flags, std::string_view key) {
  return std::any_of(flags.assignments.begin(), flags.assignments.end(),
                     [&](const std::string& set) { return value_for(set, key).has_value(); });
}

/// A run folder has its own settings. A model folder needs a run file, because it does not say
/// which questions are asked and who judges.
std::string settings_of(const EvalFlags& flags) {
  if (!flags.run_file.empty()) return flags.run_file;
  if (const auto run = run::run_with(flags.weights); !run.empty())
    return (run / "config.toml").string();
  const bool asks = is_set(flags, "task.file") || is_set(flags, "task.heldout_file") ||
                    is_set(flags, "task.name");
  require<ConfigError>(
      asks, fmt::format("{} is no run of Rollcall, and there is no --run-file", flags.weights),
      "a model folder does not say which questions to ask and who judges the answers",
      "name a run file: rollcall eval FOLDER --run-file RUN.toml; or questions alone: --set "
      "task.heldout_file=QUESTIONS.jsonl asks all of "
      "them, and --set task.file=QUESTIONS.jsonl the tenth that a run with this file would hold "
      "out");
  return "";
}

/// If only a held-out file is given, all its rows are asked. Nothing is trained, so no other file
/// is needed.
void ask_all(EvalFlags& flags) {
  if (!flags.run_file.empty() || !run::run_with(flags.weights).empty() ||
      is_set(flags, "task.file"))
    return;
  for (const std::string& set : std::vector<std::string>(flags.assignments))
    if (const auto file = value_for(set, "task.heldout_file"))
      flags.assignments.push_back("task.file=" + *file);
}

/// The settings of a run are read in the directory in which it was started. Paths on the command
/// line are relative to the current one.
void enter_directory(EvalFlags& flags) {
  if (!flags.run_file.empty()) return;
  const auto run = run::run_with(flags.weights);
  if (run.empty()) return;
  const fs::path whole = fs::absolute(run);
  flags.weights = fs::absolute(flags.weights).lexically_normal().string();
  if (!flags.out.empty()) flags.out = fs::absolute(flags.out).lexically_normal().string();
  const fs::path here = fs::current_path();
  if (const auto said = run::enter_recorded_directory(whole); !said.empty() && !launched_by_mpi())
    log_info("{}", said);
  flags.assignments = run::assignments_from(flags.assignments, here, fs::current_path());
}

/// Prints the commands of the settings, because a run folder may come from anybody and its settings
/// name programs of this machine.
void tell_commands(const std::string& run_file, const std::vector<std::string>& assignments) {
  const GivenSettings given = gather_settings(run_file, assignments);
  if (!given.faults.empty()) return;  // the job will refuse the settings
  const auto tell = [&](const char* key, const std::vector<std::string>& command, const char* does,
                        const char* otherwise) {
    if (command.empty()) return;
    std::string words;
    for (const auto& word : command)
      words += visible_format("{}\"{}\"", words.empty() ? "" : " ", word);
    fmt::print(stderr,
               "note: {} of {} {}, and {} is about to be run, as you; --set '{}=[]' {} instead\n",
               key, visible(run_file), does, words, key, otherwise);
  };
  tell("reward.command", given.config.reward.command, "judges the answers",
       "judges by the task's verifier");
  tell("environment.command", given.config.environment.command, "answers the policy",
       "asks for single answers, or plays the task's own environment");
}

}  // namespace

void add_eval(Command program, const Arguments& arguments) {
  auto flags = std::make_shared<EvalFlags>();
  auto command =
      program.command("eval", "pass@k and maj@k on held-out prompts, with bootstrap intervals");
  command
      .option("weights", flags->weights,
              "RUN, RUN@STEP, RUN@CHECKPOINT, or the folder of a model or of an adapter")
      .required();
  command.option("--run-file", flags->run_file,
                 "run file with task, verifier and sampling; default: that of the run folder");
  command.option(
      "--out", flags->out,
      "folder for the rollouts and eval.json; default: RUN/eval-NAME, and eval-NAME here for a model folder");
  command.option("--set", flags->assignments, "key=value, overrides a setting; may be repeated")
      .repeated();
  command.runs([flags, arguments] {
    ask_all(*flags);
    enter_directory(*flags);
    const auto folder = run::checkpoint_folder(flags->weights);
    const auto settings = settings_of(*flags);
    const auto run = settings.empty() || !flags->run_file.empty() ? run::run_of(flags->weights)
                                                                  : run::run_with(flags->weights);
    std::vector<std::string> assignments =
        flags->run_file.empty() ? run::kept_settings(run) : std::vector<std::string>();
    assignments.insert(assignments.end(), flags->assignments.begin(), flags->assignments.end());
    const std::string name = "eval-" + folder.filename().string();
    const auto own = run::run_with(flags->weights).empty() ? fs::path(name) : run / name;
    require<EnvironmentError>(
        !flags->out.empty() || !is_link(own), fmt::format("{} is a symbolic link", own.string()),
        "the rollouts would end in another's folder", "remove the link, or name a folder by --out");
    assignments.push_back("run.dir=" + (flags->out.empty() ? own.string() : flags->out));
    const Spawners spawners = make_spawners(settings, assignments);
    const run::JobRequest request{run::JobKind::eval,
                                  settings,
                                  assignments,
                                  run::Start::fresh,
                                  {},
                                  version_with_libraries,
                                  folder.string(),
                                  spawners.graders.get(),
                                  spawners.environment.get()};
    start_sandbox(settings, assignments);
    const JobWorld world(arguments);
    if (flags->run_file.empty() && world.communicator().rank() == 0)
      tell_commands(settings, assignments);
    return run::run_job(world.communicator(), request);
  });
}

}  // namespace rollcall::app
