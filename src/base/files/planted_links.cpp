// Checks links against the names that Rollcall writes to, and against their owners.
#include "base/files/planted_links.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace rollcall {
namespace fs = std::filesystem;
namespace {

/// Folders that grow large, so that a user may want them on another file system.
constexpr std::array<std::string_view, 4> kLarge{"archive", "checkpoints", "shards", "set_aside"};
constexpr std::array<std::string_view, 20> kWritten{
    ".lock",       "config.toml", "submitted.toml", "directory", "metrics.jsonl",
    "status.json", "result.json", "report.html",    "eval.json", "parent.json",
    "stop",        "failure",     "failure.roll",   "watch",     "tensorboard",
    "tokenizer",   "parent",      "verifier",       "rescored",  "job.sbatch"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The fault of a link to a folder of large files; empty if it has none.
std::string fault_of(const fs::path& link) {
  struct stat own {
  }, target{};
  if (::stat(link.c_str(), &target) != 0 || !S_ISDIR(target.st_mode)) return "leads to no folder";
  if (::lstat(link.c_str(), &own) != 0 || own.st_uid != ::geteuid())
    return "belongs to somebody else";
  if (target.st_uid != ::geteuid()) return "leads to a folder of somebody else";
  std::error_code unknown;
  const fs::path whole = fs::canonical(link, unknown), run = whole.parent_path();
  if (unknown) return "leads to what cannot be looked at";
  const bool is_own = fs::equivalent(run, link.parent_path(), unknown);
  return !is_own && fs::exists(run / "config.toml", unknown)
             ? "leads into the run folder " + run.string()
             : "";
}

}  // namespace

void require_no_planted_links(const fs::path& folder) {
  for (const auto& entry : list_folder(folder)) {
    const std::string name = entry.path().filename();
    const bool large = holds(kLarge, name), written = holds(kWritten, name) ||
                                                      name.starts_with("submitted-") ||
                                                      name.ends_with(".partial");
    if (!entry.is_symlink() || (!large && !written)) continue;
    const std::string fault =
        large
            ? fault_of(entry.path())
            : "is none of the folders that may lie elsewhere (archive, checkpoints, shards, set_aside)";
    require<EnvironmentError>(
        fault.empty(), fmt::format("{} is a symbolic link that {}", entry.path().string(), fault),
        "what is written there would end in another's folder",
        "put the file or folder itself in its place, or remove the link");
    log_info("{} lies in {}", entry.path().string(), fs::canonical(entry.path()).string());
  }
}

}  // namespace rollcall
