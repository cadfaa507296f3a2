// Files are added under their names without folders, since a run has only one folder.
#include "sandbox/packed.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rollcall::sandbox {
namespace {

/// Whether the path is in a folder of the system, which the sandbox has in any case.
bool is_of_the_system(const std::string& path) {
  return path.starts_with("/usr/") || path.starts_with("/bin/");
}

/// Adds a file next to the program, under its name without folders. Returns that name.
std::string taken_along(const std::string& path, Program& program) {
  const std::string name = std::filesystem::path(path).filename();
  const bool again = std::any_of(program.files.begin(), program.files.end(),
                                 [&](const auto& file) { return file.first == name; });
  require<ConfigError>(!again, fmt::format("two files are called {}", name),
                       "in the sandbox both would stand in one folder", "rename one of them");
  program.files.emplace_back(name, read_file(path));
  return name;
}

}  // namespace

Program packed(std::vector<std::string> argv, const std::vector<std::string>& with) {
  Program program = command({});
  const std::string named = argv.front();
  const bool is_path = named.find('/') != std::string::npos,
             is_found = std::filesystem::exists("/usr/bin/" + named) ||
                        std::filesystem::exists("/bin/" + named);
  require<InputError>(is_path || is_found, fmt::format("{} is in neither /usr/bin nor /bin", named),
                      "no other program is found by its name in the sandbox",
                      "give the path of yours, such as ./" + named);
  std::error_code unknown;  // a word may be too long for a name
  for (std::size_t n = 0; n < argv.size(); ++n) {
    if (is_of_the_system(argv[n]) ||
        (n == 0 ? !is_path : !std::filesystem::is_regular_file(argv[n], unknown)))
      continue;
    argv[n] = (n == 0 ? "./" : "") + taken_along(argv[n], program);
  }
  for (const std::string& path : with) taken_along(path, program);
  program.argv = std::move(argv);
  return program;
}

}  // namespace rollcall::sandbox
