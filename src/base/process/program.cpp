// Looks a name up in the folders of PATH.
#include "base/process/program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace rollcall {
namespace fs = std::filesystem;

bool command_exists(const char* name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((fs::path(folder) / name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool can_be_started(const std::string& program) {
  if (program.find('/') == std::string::npos) return command_exists(program.c_str());
  std::error_code unknown;
  return fs::is_regular_file(program, unknown) && ::access(program.c_str(), X_OK) == 0;
}

}  // namespace rollcall
