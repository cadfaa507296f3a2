// The commands that report on runs, whatever became of them.
#pragma once

#include "app/commands.hpp"

namespace rollcall::app {

void add_report(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);

}  // namespace rollcall::app
