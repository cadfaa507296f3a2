// Recognises leftovers by existing and missing files, because a crash leaves no note.
#include "run/folder/branch_leftovers.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

/// The checkpoint that parent.json names; empty if it names none.
std::string branched_from(const fs::path& run_dir) {
  const fs::path file = run_dir / "parent.json";
  if (!fs::exists(file)) return {};
  const auto parent = nlohmann::json::parse(read_file(file), nullptr, false);
  return parent.is_object() && parent.contains("checkpoint") && parent["checkpoint"].is_string()
             ? parent["checkpoint"].get<std::string>()
             : std::string();
}

}  // namespace

bool is_unfinished_branch(const fs::path& run_dir) {
  const bool begun = fs::exists(run_dir / "parent.json") || fs::exists(run_dir / kParentFolder);
  if (!begun || fs::exists(run_dir / "config.toml") || !list_folder(run_dir / "archive").empty() ||
      !list_folder(run_dir / "shards").empty())
    return false;
  const auto checkpoints = list_folder(run_dir / "checkpoints");
  const std::string planted = branched_from(run_dir);
  return std::all_of(checkpoints.begin(), checkpoints.end(), [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    return name == planted || name.starts_with('.');  // a checkpoint has a hidden name until it is
                                                      // complete
  });
}

void remove_unfinished_branch(const fs::path& run_dir) {
  if (!is_unfinished_branch(run_dir)) return;
  log_warning("{} holds what a branch left that did not begin: it is removed", run_dir.string());
  // The file by which leftovers are recognised is removed last.
  for (const char* name : {"checkpoints", kParentFolder, "metrics.jsonl", "parent.json"}) {
    std::error_code failure;
    if (name == std::string("checkpoints") && fs::is_symlink(run_dir / name)) {
      for (const auto& entry : list_folder(run_dir / name)) fs::remove_all(entry.path(), failure);
    } else {
      fs::remove_all(run_dir / name, failure);
    }
    require<StorageError>(
        !failure, fmt::format("cannot remove {}: {}", (run_dir / name).string(), failure.message()),
        "files of another run would be taken for this one's",
        "check permissions of the run folder");
  }
}

}  // namespace rollcall::run
