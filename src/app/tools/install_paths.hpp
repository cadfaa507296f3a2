// Where the program and its job templates lie, in a build tree and after an installation.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::app {

std::filesystem::path executable();   ///< absolute path of this program
std::filesystem::path jobs_folder();  ///< throws EnvironmentError when the templates are not where
                                      ///< they are installed
std::string output_of(const char* command);  ///< what a shell command prints

}  // namespace rollcall::app
