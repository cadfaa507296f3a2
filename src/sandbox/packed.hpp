// A command line as a program for the sandbox, in which it sees only the files that it brings
// along.
#pragma once

#include "sandbox/sandbox.hpp"

#include <string>
#include <vector>

namespace rollcall::sandbox {

/// The program for a command line, with every file that its words name and the files in `with`. The
/// first word is a path, or a name in /usr/bin or /bin. Throws InputError if it is neither or a
/// file cannot be read, and ConfigError if two files have the same name.
Program packed(std::vector<std::string> argv, const std::vector<std::string>& with = {});

}  // namespace rollcall::sandbox
