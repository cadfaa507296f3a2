// Whether programs can be started here.
#pragma once

#include <string>

namespace rollcall {

/// Whether a folder of PATH has an entry of this name that this user may execute.
bool command_exists(const char* name);

/// Whether the program that a command begins with is there: a name that command_exists() finds, or,
/// if it has a slash, the path of a plain file that this user may execute.
bool can_be_started(const std::string& program);

}  // namespace rollcall
