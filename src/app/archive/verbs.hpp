// The verbs of `rollcall archive`, one file each.
#pragma once

#include "app/commands.hpp"

namespace rollcall::app::archive {

void add_ls(CLI::App& command, Action& action);
void add_show(CLI::App& command, Action& action);
void add_verify(CLI::App& command, Action& action);
void add_repair(CLI::App& command, Action& action);
void add_pack(CLI::App& command, Action& action);
void add_stats(CLI::App& command, Action& action);
void add_export(CLI::App& command, Action& action);
void add_rescore(CLI::App& command, Action& action);
void add_diff(CLI::App& command, Action& action);

}  // namespace rollcall::app::archive
