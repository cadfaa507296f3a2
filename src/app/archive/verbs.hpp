// The subcommands of `rollcall archive`, one file each.
#pragma once

#include "app/command_line.hpp"

namespace rollcall::app::archive {

void add_ls(Command command);
void add_show(Command command);
void add_verify(Command command);
void add_repair(Command command);
void add_pack(Command command);
void add_stats(Command command);
void add_export(Command command);
void add_rescore(Command command);
void add_diff(Command command);

}  // namespace rollcall::app::archive
