// Finds out whether programs can be started on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall {

/// The file that execvp() starts for the first word of a command: the path itself if the word has a
/// slash, else the first plain file of that name in the folders of PATH that this user may execute.
/// An empty folder in PATH is the working directory; without PATH it is /bin and /usr/bin. Empty if
/// there is no such file.
std::filesystem::path program_file(const std::string& word);

/// Whether program_file() finds the program.
bool command_exists(const char* name);
bool can_be_started(const std::string& program);

}  // namespace rollcall
