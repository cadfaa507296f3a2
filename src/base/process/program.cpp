// Looks a name up in the folders of PATH.
#include "base/process/program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace rollcall {
namespace fs = std::filesystem;
namespace {

bool is_program(const fs::path& file) {
  std::error_code unknown;
  return fs::is_regular_file(file, unknown) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

fs::path program_file(const std::string& word) {
  if (word.empty()) return {};
  if (word.find('/') != std::string::npos) return is_program(word) ? fs::path(word) : fs::path();
  const char* path = std::getenv("PATH");
  for (std::string_view folders = path == nullptr ? "/bin:/usr/bin" : path;;) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    if (fs::path file = fs::path(folder.empty() ? "." : folder) / word; is_program(file))
      return file;
    if (colon == std::string_view::npos) return {};
    folders.remove_prefix(colon + 1);
  }
}

bool command_exists(const char* name) { return !program_file(name).empty(); }

bool can_be_started(const std::string& program) { return !program_file(program).empty(); }

}  // namespace rollcall
