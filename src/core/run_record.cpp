// Recognises a run folder by the first line of its config.toml, and reads the settings only if that
// line is missing.
#include "core/run_record.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "core/settings_text.hpp"

#include <fmt/format.h>

namespace rollcall {
namespace {

namespace fs = std::filesystem;

/// The run folder that a file lies in, at any depth; empty if there is none.
fs::path run_above(const fs::path& file) {
  for (fs::path dir = fs::absolute(file).lexically_normal().parent_path(); dir.has_relative_path();
       dir = dir.parent_path())
    if (holds_record(dir)) return dir;
  return {};
}

}  // namespace

std::string why_no_record(const fs::path& run_dir) {
  if (!fs::is_directory(run_dir))
    return fs::exists(run_dir) ? "it is a file" : "there is no such folder";
  const fs::path file = run_dir / "config.toml";
  if (!fs::exists(file)) return "it has no config.toml";
  const std::string text = read_file(file);
  if (belongs_to_folder(file, text)) return {};
  try {
    (void)read_settings(text, file.string());  // a run's record may have lost its first line
    return {};
  } catch (const Error&) {
    return "its config.toml is not what a run writes, but another program's";
  }
}

void require_record(const fs::path& run_dir) {
  const std::string why = why_no_record(run_dir);
  if (why.empty()) return;
  const fs::path above = fs::is_regular_file(run_dir) ? run_above(run_dir) : fs::path();
  throw InputError(error_message(fmt::format("{} is not a run folder", run_dir.string()), why,
                                 above.empty()
                                     ? "name the folder that run.dir named when the run was started"
                                     : fmt::format("name the folder: {}", above.string())));
}

}  // namespace rollcall
