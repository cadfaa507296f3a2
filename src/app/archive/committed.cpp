// Checkpoints read for the coordinator's state alone.
#include "app/archive/committed.hpp"

#include "base/error.hpp"
#include "io/schema.hpp"
#include "io/shard_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::app::archive {
namespace {

Committed committed_of(const io::Checkpoint& checkpoint) {
  const auto text = checkpoint.files.find("coordinator.json");
  require<StorageError>(text != checkpoint.files.end(), fmt::format("checkpoint {} has no coordinator.json", checkpoint.name), "it says which shards a run goes on with",
                        "use another checkpoint");
  Committed committed{checkpoint.name, stages::parse_coordinator_state(text->second, checkpoint.name + "/coordinator.json")};
  for (const auto& file : committed.state.unpacked) {
    committed.files[file.files.shard.path] = file.files.shard;
    committed.files[file.files.scores.path] = file.files.scores;
  }
  return committed;
}

}  // namespace

Committed read_committed(const std::filesystem::path& run_dir, const std::string& checkpoint) { return committed_of(io::read_checkpoint(run_dir, checkpoint)); }

std::optional<Committed> newest_committed(const std::filesystem::path& run_dir, std::vector<std::string>& warnings) {
  if (io::list_checkpoints(run_dir).empty()) return std::nullopt;
  try {
    const auto checkpoint = io::newest_checkpoint(run_dir, &warnings);
    return checkpoint ? std::optional(committed_of(*checkpoint)) : std::nullopt;
  } catch (const StorageError& fault) {  // all are damaged; the shards can still be looked at
    warnings.emplace_back(fault.what());
    return std::nullopt;
  }
}

bool is_packed(const std::vector<io::ArchiveEntry>& entries, const std::string& shard_path) {
  const auto name = io::ShardName::parse(shard_path);
  return name && io::any_holds(entries, name->purpose, name->step);
}

std::string steps_text(const std::vector<std::string>& shard_paths) {
  std::map<Purpose, std::pair<std::uint64_t, std::uint64_t>> steps;
  for (const std::string& path : shard_paths) {
    const auto name = io::ShardName::parse(path);
    if (!name) continue;
    const auto [range, fresh] = steps.try_emplace(name->purpose, name->step, name->step);
    if (!fresh) range->second = {std::min(range->second.first, name->step), std::max(range->second.second, name->step)};
  }
  std::string text;
  for (const auto& [purpose, range] : steps) {
    const auto [first, last] = range;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", io::text_of(purpose), first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last));
  }
  return text;
}

}  // namespace rollcall::app::archive
