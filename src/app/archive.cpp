// rollcall archive: the rollouts of a run, read, checked and mended; one file per verb in archive/.
#include "app/archive/verbs.hpp"
#include "app/commands.hpp"

namespace rollcall::app {

void add_archive(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("archive", "the rollouts of a run: list, show, verify, repair, pack, summarise, export, compare");
  command->require_subcommand(1);
  archive::add_ls(*command, action);
  archive::add_show(*command, action);
  archive::add_verify(*command, action);
  archive::add_repair(*command, action);
  archive::add_pack(*command, action);
  archive::add_stats(*command, action);
  archive::add_export(*command, action);
  archive::add_diff(*command, action);
  command->footer("RUN is a run folder, also one whose run goes on; where it says RUN|FILE, one HDF5 file of a run will do, wherever it was copied.");
}

}  // namespace rollcall::app
