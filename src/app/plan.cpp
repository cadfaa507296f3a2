// rollcall plan: what a run would need on N ranks, without running it.
#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "stages/forecast.hpp"
#include "stages/run_folder.hpp"
#include "text/prompt_format.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

namespace rollcall::app {

void add_plan(CLI::App& app, Action& action) {
  struct Flags {
    std::string run_file;
    std::vector<std::string> assignments;
    int ranks = 1, ranks_per_node = 0;
    stages::Quota quota;
  };
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("plan", "what a run on N ranks would need: layout, memory, messages and files, without running it");
  command->add_option("run-file", flags->run_file, "TOML run file")->required();
  command->add_option("--ranks", flags->ranks, "ranks")->check(CLI::Range(1, 1 << 20));
  command->add_option("--ranks-per-node", flags->ranks_per_node, "ranks of a node, which share weights and gradient sum; without it one node has all")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--quota-files", flags->quota.files, "files and folders the site allows; more is an error");
  command->add_option("--quota-bytes", flags->quota.bytes, "bytes the site allows, also as 500G or 10T")->transform(CLI::AsSizeValue(false));
  command->add_option("--set", flags->assignments, "key=value, overrides the run file; may be repeated")->allow_extra_args(false)->take_all();
  command->callback([flags, &action] {
    action = [flags] {
      const RunConfig config = load_run_config(flags->run_file, flags->assignments);
      const text::PromptFormat format(config.text, stages::text_source(config));
      const int on_node =
          flags->ranks_per_node > 0 ? std::min(flags->ranks, flags->ranks_per_node) : flags->ranks;  // nodes like this one, as thread_count() has it
      const int threads = config.run.threads > 0 ? int(config.run.threads) : std::max(1, comm::cores_available() / on_node);
      const auto forecast = stages::forecast(config, stages::models_of(config, *format.tokenizer()), {flags->ranks, threads, flags->ranks_per_node});
      std::cout << stages::one_sentence(forecast, comm::memory_available()) << "\n" << stages::to_text(forecast) << std::flush;
      stages::check_quota(forecast, flags->quota);
      return ExitCode::done;
    };
  });
}

}  // namespace rollcall::app
