// rollcall plan: prints what a run would need on N ranks, without running it.
#include "app/commands.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/text/byte_size.hpp"
#include "comm/communicator.hpp"
#include "run/context/models_of.hpp"
#include "run/start/draft.hpp"
#include "sizing/device_memory.hpp"
#include "sizing/forecast.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

namespace rollcall::app {

namespace {
constexpr int kTokenizing = 16;  // threads on a login node, which other users need as well
}

void add_plan(Command program) {
  struct Flags {
    std::string run_file;
    std::vector<std::string> assignments;
    int ranks = 1, ranks_per_node = 0, gpus = 0;
    std::string gpu_memory = "80G";
    sizing::Quota quota;
  };
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "plan",
      "what a run on N ranks would need: layout, memory, messages and files, without running it");
  command.option("run-file", flags->run_file, "TOML run file").required();
  auto ranks = command.option("--ranks", flags->ranks, "number of ranks").range(1, 1 << 20);
  command
      .option("--ranks-per-node", flags->ranks_per_node,
              "ranks of a node, which share weights and gradient sum; without it one node has all")
      .range(1, 1 << 20);
  auto gpus = command
                  .option("--gpus", flags->gpus,
                          "a rank for each of so many GPUs: what each of them would hold")
                  .range(1, 1 << 20);
  gpus.excludes(ranks);
  command.option("--gpu-memory", flags->gpu_memory, "memory of a GPU, as 80G")
      .needs(gpus)
      .default_shown();
  command.option("--quota-files", flags->quota.files,
                 "files and folders the site allows; more is an error");
  command.option("--quota-bytes", flags->quota.bytes, "bytes the site allows, also as 500G or 10T")
      .byte_size();
  command.option("--set", flags->assignments, "key=value, overrides the run file; may be repeated")
      .repeated();
  command.runs([flags] {
    start_log("warn", 0, 1);  // on standard error, because standard output has the plan
    GivenSettings given = gather_settings(flags->run_file, flags->assignments);
    const RunConfig& config = given.config;
    if (flags->gpus > 0) flags->ranks = flags->gpus;
    const int on_node = flags->ranks_per_node > 0
                            ? std::min(flags->ranks, flags->ranks_per_node)
                            : flags->ranks;  // ranks are spread over nodes like this one, as in
                                             // thread_count()
    const int threads = config.run.threads > 0 ? int(config.run.threads)
                                               : std::max(1, comm::cores_available() / on_node);
    const run::RankShape shape{flags->ranks, std::min(comm::cores_available(), kTokenizing), false};
    const auto draft = run::make_draft(config, shape, run::JobKind::train, given.faults);
    given.faults.require_none();
    const auto& models = draft.context.models;
    const auto forecast =
        sizing::forecast(config, models, {flags->ranks, threads, flags->ranks_per_node},
                         run::longest_of(draft.context));
    std::cout << visible_lines(sizing::one_sentence(forecast, comm::memory_available()) + "\n" +
                               sizing::to_text(forecast))
              << std::flush;
    if (flags->gpus > 0)
      std::cout << visible_lines(sizing::device_text(
                       forecast, config, models, parse_bytes(flags->gpu_memory, "--gpu-memory")))
                << std::flush;
    sizing::check_quota(forecast, flags->quota);
    return ExitCode::done;
  });
}

}  // namespace rollcall::app
