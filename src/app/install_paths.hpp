// Where the program and its job templates lie, in a build tree and after an installation.
#pragma once

#include <filesystem>

namespace rollcall::app {

std::filesystem::path executable();    ///< absolute path of this program
std::filesystem::path jobs_folder();   ///< throws EnvironmentError when the templates are not where they are installed
bool command_exists(const char* name);  ///< found in PATH

}  // namespace rollcall::app
