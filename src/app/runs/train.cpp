// rollcall train and rollcall sft: run the job itself.
#include "app/commands.hpp"
#include "app/runs/job_world.hpp"
#include "app/tools/start_sandbox.hpp"
#include "core/run_config.hpp"
#include "run/folder/run_folder.hpp"
#include "run/folder/start_directory.hpp"
#include "run/rank.hpp"

#include <filesystem>
#include <memory>

namespace rollcall::app {
namespace {

struct TrainFlags {
  std::string run_file;
  std::vector<std::string> assignments;
  std::string init_from, from_archive, from;
  bool resume = false, start_if_none = false, supervised_only = false;
};

void add_job(Command program, const char* name, const char* meaning, bool supervised_only,
             const Arguments& arguments) {
  auto flags = std::make_shared<TrainFlags>();
  flags->supervised_only = supervised_only;
  auto command = program.command(name, meaning);
  auto run_file = command.option("run-file", flags->run_file,
                                 "TOML run file; without it every setting has its default");
  command.option("--set", flags->assignments, "key=value, overrides the run file; may be repeated")
      .repeated();
  auto init_from = command.option("--init-from", flags->init_from,
                                  "start a new run from the weights of RUN or RUN@STEP");
  if (!supervised_only)
    command.option(
        "--from-archive", flags->from_archive,
        "train from the stored rollouts of a run folder or one HDF5 file of it; nothing is sampled "
        "for training");
  auto resume = command.flag("--resume", flags->resume,
                             "continue the run in run.dir from its newest checkpoint");
  command
      .flag("--start-if-none", flags->start_if_none,
            "with --resume: start a run where run.dir holds none")
      .needs(resume);
  if (!supervised_only)
    command
        .option("--from", flags->from,
                "branch off: a new run with the settings of RUN, from its newest checkpoint or "
                "RUN@STEP; --set run.dir=NEW and what is to differ")
        .excludes(run_file)
        .excludes(init_from)
        .excludes(resume);
  RunConfig defaults;
  command.footer(
      "Keys of a run file, with defaults:\n" + bind(defaults).describe() +
      "\nExit codes: 0 done, 2 misconfigured, 3 failed, 75 stopped with a checkpoint (run again "
      "with --resume).");
  command.runs([flags, arguments] {
    const auto start = flags->start_if_none ? run::Start::resume_or_fresh
                       : flags->resume      ? run::Start::resume
                                            : run::Start::fresh;
    run::JobRequest request{run::JobKind::train,
                            flags->run_file,
                            flags->assignments,
                            start,
                            {},
                            version_with_libraries,
                            "",
                            nullptr};
    if (!flags->from.empty()) {
      const auto parent = run::run_with(flags->from);
      request.from = flags->from;
      request.run_file = parent.empty() ? "" : (parent / "config.toml").string();
    }
    if (!flags->init_from.empty())
      request.assignments.push_back("run.init_from=" + flags->init_from);
    if (!flags->from_archive.empty())
      request.assignments.push_back("train.from_archive=" +
                                    std::filesystem::absolute(flags->from_archive).string());
    if (flags->supervised_only) request.assignments.push_back("train.steps=0");
    run::enter_directory_of(request);
    const Spawners spawners = make_spawners(request.run_file, request.assignments);
    request.spawner = spawners.graders.get();
    request.environment_spawner = spawners.environment.get();
    start_sandbox(request.run_file, request.assignments);
    const JobWorld world(arguments);
    return run::run_job(world.communicator(), request);
  });
}

}  // namespace

void add_train(Command program, const Arguments& arguments) {
  add_job(program, "train", "run or continue a run: warm start, then training", false, arguments);
  add_job(program, "sft", "only the supervised warm start", true, arguments);
}

}  // namespace rollcall::app
