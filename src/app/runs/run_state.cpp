// Reads RUN/failure and the lock of the folder.
#include "app/runs/run_state.hpp"

#include "base/files/file.hpp"

#include <fmt/format.h>

namespace rollcall::app {

std::string failure_of(const std::filesystem::path& dir) {
  if (!std::filesystem::exists(dir / "failure") || FolderLock::is_held(dir)) return {};
  std::string text = read_file(dir / "failure");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string state_of(const std::filesystem::path& dir, const std::string& phase) {
  if (FolderLock::is_held(dir)) return phase;
  if (!failure_of(dir).empty())
    return phase == "not started" ? "failed" : fmt::format("failed (its last phase was {})", phase);
  const bool is_over = phase == "done" || phase == "not started" || phase.starts_with("stopped");
  return is_over ? phase : phase + ", but no process holds the folder";
}

}  // namespace rollcall::app
