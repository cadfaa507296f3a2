// rollcall archive: reads, checks and repairs the rollouts of a run. Each subcommand has a file in
// archive/.
#include "app/archive/verbs.hpp"
#include "app/commands.hpp"

#include <cstdio>

namespace rollcall::app {

void add_archive(Command program) {
  auto command = program.command(
      "archive",
      "the rollouts of a run: list, show, verify, repair, pack, summarise, export, rescore, "
      "compare");
  command.expects_commands(0, 1);  // if a command were required, a misspelt one would be reported
                                   // as missing
  command.runs([command] {
    std::fputs(command.help().c_str(), stdout);
    return ExitCode::misconfigured;
  });
  archive::add_ls(command);
  archive::add_show(command);
  archive::add_verify(command);
  archive::add_repair(command);
  archive::add_pack(command);
  archive::add_stats(command);
  archive::add_export(command);
  archive::add_rescore(command);
  archive::add_diff(command);
  command.footer(
      "RUN is a run folder, also of a running run; repair and pack need its job to have ended. "
      "RUN|FILE also takes one HDF5 file of a run, wherever it was "
      "copied.");
}

}  // namespace rollcall::app
