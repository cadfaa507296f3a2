// rollcall weights, with its own subcommands.
#pragma once

#include "app/commands.hpp"

namespace rollcall::app {

void add_weights(CLI::App& app, Action& action);

}  // namespace rollcall::app
