// All paths are relative to the running program, so that an installation can be moved.
#include "app/tools/install_paths.hpp"

#include "base/errors/error.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace rollcall::app {
namespace fs = std::filesystem;

fs::path executable() { return fs::read_symlink("/proc/self/exe"); }

fs::path jobs_folder() {
  const fs::path bin = executable().parent_path();
  // in an installation; in build/<preset>/bin of a checkout
  for (const fs::path& folder : {bin / "../share/rollcall/jobs", bin / "../../../jobs"}) {
    if (fs::exists(folder / "launch.bash")) return folder.lexically_normal();
  }
  throw EnvironmentError(error_message(
      "the job templates are not beside " + bin.string(), "batch scripts are made from them",
      "install with cmake --install, or run the program from its build folder"));
}

std::string output_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "r"), &::pclose);
  std::string text;
  std::array<char, 512> buffer{};
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get())) text += buffer.data();
  return text;
}

}  // namespace rollcall::app
