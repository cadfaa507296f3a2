// rollcall plan: what a run would need on N ranks, without running it.
#include "app/commands.hpp"
#include "stages/forecast.hpp"
#include "text/tokenizer.hpp"

#include <iostream>
#include <memory>

namespace rollcall::app {

void add_plan(CLI::App& app, Action& action) {
  struct Flags {
    std::string run_file;
    std::vector<std::string> assignments;
    int ranks = 1;
  };
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("plan", "who hosts what, memory, messages and files of a run on N ranks, without running it");
  command->add_option("run-file", flags->run_file, "TOML run file")->required();
  command->add_option("--ranks", flags->ranks, "ranks")->check(CLI::Range(1, 1 << 20));
  command->add_option("--set", flags->assignments, "key=value over the run file; may be repeated")->allow_extra_args(false)->take_all();
  command->callback([flags, &action] {
    action = [flags] {
      const RunConfig config = load_run_config(flags->run_file, flags->assignments);
      const auto tokenizer = text::make_tokenizer(config.text.tokenizer);
      const int threads = config.run.threads > 0 ? int(config.run.threads) : 1;
      std::cout << stages::to_text(stages::forecast(config, flags->ranks, tokenizer->vocab_size(), threads)) << std::flush;
      return ExitCode::done;
    };
  });
}

}  // namespace rollcall::app
