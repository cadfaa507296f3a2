// Reads checkpoints for the coordinator's state.
#include "app/archive/committed.hpp"

#include "base/files/file.hpp"
#include "io/schema.hpp"
#include "io/shard_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rollcall::app::archive {
namespace {

Committed committed_of(const io::StoredCheckpoint& checkpoint) {
  Committed committed{checkpoint.name(), run::state_of(checkpoint)};
  for (const auto& file : committed.state.unpacked) {
    committed.files[file.files.shard.path] = file.files.shard;
    committed.files[file.files.scores.path] = file.files.scores;
  }
  return committed;
}

}  // namespace

Committed read_committed(const std::filesystem::path& run_dir, const std::string& checkpoint,
                         Depth depth) {
  const io::StoredCheckpoint stored(run_dir, checkpoint);
  if (depth == Depth::whole) stored.verify();
  return committed_of(stored);
}

std::optional<Committed> newest_committed(const std::filesystem::path& run_dir, Depth depth,
                                          std::vector<std::string>& faults) {
  for (;;) {
    const auto names = io::list_checkpoints(run_dir, &faults);
    std::optional<Committed> newest;
    for (auto name = names.rbegin(); name != names.rend() && !newest; ++name) {
      try {
        newest = read_committed(run_dir, *name, depth);
      } catch (const UnreadableError&) {
        throw;  // the unreadable checkpoint could be the newest one
      } catch (const Error& fault) {
        faults.emplace_back(fault.what());
      }
    }
    // A run removes checkpoints while this function reads them, so faults only count if the same
    // checkpoints are still there afterwards.
    if (std::vector<std::string> found;
        faults.empty() || io::list_checkpoints(run_dir, &found) == names)
      return newest;
  }
}

bool is_packed(const std::vector<io::ArchiveEntry>& entries, const std::string& shard_path) {
  const auto name = io::ShardName::parse(shard_path);
  return name && io::any_holds(entries, name->purpose, name->step);
}

std::string steps_text(std::vector<Steps> steps) {
  std::sort(steps.begin(), steps.end(), [](const Steps& a, const Steps& b) {
    return std::tie(a.purpose, a.first) < std::tie(b.purpose, b.first);
  });
  std::vector<Steps> merged;
  for (const Steps& s : steps) {
    if (!merged.empty() && merged.back().purpose == s.purpose && s.first <= merged.back().last + 1)
      merged.back().last = std::max(merged.back().last, s.last);
    else merged.push_back(s);
  }
  std::string text;
  for (const auto& [purpose, first, last] : merged)
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", io::text_of(purpose),
        first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last));
  return text;
}

}  // namespace rollcall::app::archive
