// rollcall archive: the rollouts of a run, read, checked and repaired; one file per verb in archive/.
#include "app/archive/verbs.hpp"
#include "app/commands.hpp"

#include <cstdio>

namespace rollcall::app {

void add_archive(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("archive", "the rollouts of a run: list, show, verify, repair, pack, summarise, export, rescore, compare");
  command->require_subcommand(0, 1);  // a required one would be missed before a misspelt one is named
  command->callback([command, &action] {
    if (!command->get_subcommands().empty()) return;
    action = [help = command->help("rollcall")] {
      std::fputs(help.c_str(), stdout);
      return ExitCode::misconfigured;
    };
  });
  archive::add_ls(*command, action);
  archive::add_show(*command, action);
  archive::add_verify(*command, action);
  archive::add_repair(*command, action);
  archive::add_pack(*command, action);
  archive::add_stats(*command, action);
  archive::add_export(*command, action);
  archive::add_rescore(*command, action);
  archive::add_diff(*command, action);
  command->footer(
      "RUN is a run folder, also of a running run; repair and pack need its job to have ended. RUN|FILE also takes one HDF5 file of a run, wherever it was "
      "copied.");
}

}  // namespace rollcall::app
