// Finds the program and its job templates, in a build tree and in an installation.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::app {

std::filesystem::path executable();   ///< absolute path of this program
std::filesystem::path jobs_folder();  ///< throws EnvironmentError if the templates are not there
std::string output_of(const char* command);  ///< the output of a shell command

}  // namespace rollcall::app
