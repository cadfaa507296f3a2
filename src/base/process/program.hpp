// Whether programs can be started here.
#pragma once

#include <string>

namespace rollcall {

/// Whether PATH has a program of this name.
bool command_exists(const char* name);

/// Whether execvp() would find the program that a command begins with: a name in PATH, or a path.
bool can_be_started(const std::string& program);

}  // namespace rollcall
