// A step of the archive and the shards of the same step, compared by the digests of their groups.
#include "io/redrawn.hpp"

#include "io/canonical.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using Digests = std::map<std::uint64_t, std::vector<std::string>>;  ///< digests of the groups of
                                                                    ///< each step

Digests digests_of(const std::vector<ArchivedGroup>& groups,
                   const std::vector<std::string>& component_names) {
  Digests digests;
  for (const ArchivedGroup& group : groups)
    digests[group.step].push_back(group_digest(group, component_names));
  return digests;
}

bool is_there(const fs::path& run_dir, const PackInput& shard) {
  return fs::exists(run_dir / shard.shard.path) && fs::exists(run_dir / shard.scores.path);
}

/// Whether the shards hold every step of the file, at least one of them with different content.
bool is_redrawn(const fs::path& run_dir, const ArchiveEntry& entry,
                const std::vector<PackInput>& shards) {
  std::vector<ArchivedGroup> drawn;
  std::vector<std::string> names;
  for (const PackInput& shard : shards) {
    const auto name = ShardName::parse(shard.shard.path);
    if (!name || !holds(entry, name->purpose, name->step)) continue;
    if (!is_there(run_dir, shard)) return false;
    append_scored(run_dir, shard, drawn, names);
  }
  if (drawn.empty()) return false;
  const Digests now = digests_of(canonical(std::move(drawn)), names);
  std::vector<std::string> names_before;
  const auto groups = read_archive(run_dir, entry, &names_before);
  const Digests before = digests_of(groups, names_before);
  const bool all = std::all_of(before.begin(), before.end(),
                               [&](const auto& step) { return now.contains(step.first); });
  return all && std::any_of(before.begin(), before.end(),
                            [&](const auto& step) { return now.at(step.first) != step.second; });
}

/// Makes one shard from the groups of a step. Every token has its policy version; the shard gets
/// the version of its first token.
ShardAgain publish_step(const fs::path& run_dir, std::vector<ArchivedGroup> groups,
                        const std::vector<std::string>& names, const RunIdentity& identity) {
  RolloutShard shard;
  shard.purpose = groups.front().purpose, shard.step = groups.front().step,
  shard.temperature = groups.front().temperature;
  ScoredShard scores;
  scores.purpose = shard.purpose, scores.step = shard.step, scores.component_names = names;
  std::vector<ShardPrompt> prompts;
  for (ArchivedGroup& group : groups) {
    for (const Rollout& rollout : group.group.rollouts)
      for (const Turn& turn : rollout.turns)
        if (shard.policy.value == 0 && !turn.policy_version.empty())
          shard.policy = PolicyVersion{turn.policy_version.front()};
    prompts.push_back(std::move(group.prompt)), scores.scores.push_back(std::move(group.scores)),
        shard.groups.push_back(std::move(group.group));
  }
  return {shard.step, publish(run_dir, draft_scored(shard, prompts, scores, identity))};
}

}  // namespace

int give_way_to(const std::vector<PackInput>& shards, const fs::path& run_dir) {
  std::vector<std::string> withdrawn;
  for (const ArchiveEntry& entry : read_manifest(run_dir)) {
    const Purpose purpose = purpose_from_text(entry.purpose);
    if (purpose != Purpose::eval && purpose != Purpose::validation) continue;
    if (is_redrawn(run_dir, entry, shards)) withdrawn.push_back(entry.file.path);
  }
  if (withdrawn.empty()) return 0;
  const std::string folder = new_set_aside(run_dir);
  amend(run_dir, withdrawn, {}, folder + "/manifest.json");
  move_to(run_dir, withdrawn, folder);
  return int(withdrawn.size());
}

std::vector<ShardAgain> publish_neighbours(const fs::path& run_dir, Purpose purpose,
                                           std::uint64_t step, const RunIdentity& identity) {
  std::vector<ShardAgain> published;
  for (const ArchiveEntry& entry : read_manifest(run_dir)) {
    if (!holds(entry, purpose, step) || entry.first_step == entry.last_step) continue;
    std::vector<std::string> names;
    std::map<std::uint64_t, std::vector<ArchivedGroup>> steps;
    for (ArchivedGroup& group : read_archive(run_dir, entry, &names))
      if (group.step != step) steps[group.step].push_back(std::move(group));
    for (auto& [other, groups] : steps)
      published.push_back(publish_step(run_dir, std::move(groups), names, identity));
  }
  return published;
}

}  // namespace rollcall::io
