// A command line as a program of the sandbox, which sees nothing but what it takes along.
#pragma once

#include "sandbox/sandbox.hpp"

#include <string>
#include <vector>

namespace rollcall::sandbox {

/// The program of a command line, with every file that its words name, and the files `with`. The
/// first word is a path, or a name in /usr/bin or /bin. Throws InputError where it is neither or a
/// file cannot be read, and ConfigError where two files have the same name.
Program packed(std::vector<std::string> argv, const std::vector<std::string>& with = {});

}  // namespace rollcall::sandbox
