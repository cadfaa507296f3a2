// One line in a file of its own: config.toml is compared between starts, and these may differ in it.
#include "stages/start_directory.hpp"

#include "base/file.hpp"

#include <fmt/format.h>

#include <system_error>

namespace rollcall::stages {
namespace fs = std::filesystem;
namespace {

fs::path file_of(const fs::path& run_dir) { return run_dir / "directory"; }

}  // namespace

void record_directory(const fs::path& run_dir) {
  if (!fs::exists(file_of(run_dir))) write_file_atomic(file_of(run_dir), fs::current_path().string() + "\n");
}

std::optional<fs::path> recorded_directory(const fs::path& run_dir) {
  if (!fs::exists(file_of(run_dir))) return std::nullopt;
  std::string text = read_file(file_of(run_dir));
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? std::nullopt : std::optional<fs::path>(text);
}

std::string enter_recorded_directory(const fs::path& run_dir) {
  const auto recorded = recorded_directory(run_dir);
  std::error_code failure;
  if (!recorded || fs::equivalent(*recorded, fs::current_path(), failure)) return {};
  const fs::path here = fs::current_path();
  fs::current_path(*recorded, failure);
  return failure ? fmt::format("the run was started in {}, which cannot be entered here ({}): the relative paths of its settings are read from {}",
                               recorded->string(), failure.message(), here.string())
                 : fmt::format("the relative paths of its settings are read from {}, where the run was started", recorded->string());
}

}  // namespace rollcall::stages
