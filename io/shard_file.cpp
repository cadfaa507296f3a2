// Shards and scores are built in memory, then written and renamed.
#include "io/shard_file.hpp"

#include "base/files/file.hpp"
#include "base/files/nfs_visibility.hpp"
#include "io/compact_tables.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"
#include "io/shard_name.hpp"

#include <memory>
#include <tuple>
#include <utility>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

/// Step, round, producer, policy_version and temperature of the shard, for its own file and that of
/// its scores.
Attributes shard_attributes(const RolloutShard& shard, const RunIdentity& identity,
                            const char* kind) {
  Attributes all = identity_attributes(identity, kind, shard.purpose, kCompactMajor);
  all.emplace_back("step", shard.step);
  all.emplace_back("round", std::uint64_t{shard.round});
  all.emplace_back("producer", std::uint64_t{shard.producer});
  all.emplace_back("policy_version", shard.policy.value);
  all.emplace_back("temperature", shard.temperature);
  return all;
}

ShardName name_of(const RolloutShard& shard, Holds holds) {
  return {shard.purpose, shard.step, shard.round, shard.producer, holds};
}

KeyColumns keys_of(const RolloutShard& shard) {
  KeyColumns keys;
  for (const Group& group : shard.groups) {
    expect(group.id.step == shard.step, "the groups of a shard are of its step");
    append(group, keys);
  }
  return keys;
}

RolloutColumns columns_of(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts) {
  expect(prompts.size() == shard.groups.size(), "a shard has one prompt per group");
  RolloutColumns columns;
  for (std::size_t g = 0; g < prompts.size(); ++g)
    append(shard.groups[g], prompts[g], shard.temperature, columns);
  return columns;
}

ScoreColumns columns_of(const ScoredShard& scores, const RolloutShard& shard) {
  expect(scores.purpose == shard.purpose && scores.step == shard.step &&
             scores.round == shard.round && scores.producer == shard.producer,
         "scores are those of the shard they are written beside");
  expect(scores.scores.size() == shard.groups.size(), "scores have the groups of their shard");
  ScoreColumns columns;
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    expect(scores.scores[g].size() == shard.groups[g].rollouts.size(),
           "scores have the rollouts of their shard");
    append(scores.scores[g], scores.component_names.size(), columns);
  }
  return columns;
}

template <class Columns>
FileDraft draft(const ShardName& name, Columns columns, Layout layout) {
  // a std::function is copyable, and groups must not be copied
  auto parts = std::make_shared<std::pair<Columns, Layout>>(std::move(columns), std::move(layout));
  return {name.path(), [parts] {
            const auto all =
                std::apply([](const auto&... each) { return views(each...); }, parts->first);
            parts->second.extents = extents_of(all, parts->second.component_names.size());
            return build_compact(all, parts->second);
          }};
}

template <class Shard>
void read_address(const TableReader& reader, Shard& shard) {
  shard.purpose = purpose_of(reader);
  shard.step = reader.number<std::uint64_t>("step");
  shard.round = reader.number<std::uint32_t>("round");
  shard.producer = reader.number<std::uint32_t>("producer");
}

}  // namespace

FileDraft draft_shard(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                      const RunIdentity& identity) {
  return draft(name_of(shard, Holds::rollouts),
               std::tuple(keys_of(shard), columns_of(shard, prompts)),
               {.extents = {},
                .component_names = {},
                .attributes = shard_attributes(shard, identity, "shard")});
}

FileDraft draft_scores(const ScoredShard& scores, const RolloutShard& shard,
                       const RunIdentity& identity) {
  return draft(name_of(shard, Holds::scores), std::tuple(keys_of(shard), columns_of(scores, shard)),
               {.extents = {},
                .component_names = scores.component_names,
                .attributes = shard_attributes(shard, identity, "scores")});
}

FileDraft draft_scored(const RolloutShard& shard, const std::vector<ShardPrompt>& prompts,
                       const ScoredShard& scores, const RunIdentity& identity) {
  return draft(name_of(shard, Holds::both),
               std::tuple(keys_of(shard), columns_of(shard, prompts), columns_of(scores, shard)),
               {.extents = {},
                .component_names = scores.component_names,
                .attributes = shard_attributes(shard, identity, kKinds[std::size_t(Holds::both)])});
}

/// The name is made durable later, by the checkpoint that counts the step.
PublishedFile publish(const fs::path& run_dir, const FileDraft& draft) {
  const fs::path path = run_dir / draft.path;
  const std::string content = writing(path, draft.content);
  make_folder(path.parent_path());
  write_file_shown(path, content);
  return {draft.path, content.size(), checksum64(std::as_bytes(std::span(content)))};
}

void await_published(const fs::path& run_dir, const PublishedFile& file) {
  require<StorageError>(
      file_seen_in_time(run_dir / file.path),
      fmt::format("{} cannot be seen here {:.0f} s after it was published",
                  (run_dir / file.path).string(), kLateName_s),
      "ranks exchange rollouts through files",
      "put run.dir on a file system that all nodes share; if the file was lost, run rollcall archive repair and resume");
}

RolloutShard read_shard(const fs::path& run_dir, const PublishedFile& file,
                        std::vector<ShardPrompt>* prompts) {
  return reading(run_dir / file.path, [&] {
    check_published(run_dir, file);
    TableReader reader(run_dir / file.path);
    check_schema(reader, "shard");
    KeyColumns keys;
    RolloutColumns rollouts;
    reader.read(keys);
    reader.read(rollouts);
    reader.check_counts();
    RolloutShard shard;
    read_address(reader, shard);
    shard.policy.value = reader.number<std::uint64_t>("policy_version");
    shard.temperature = reader.number<float>("temperature");
    shard.groups = groups_of(keys, rollouts);
    if (prompts != nullptr) *prompts = prompts_of(rollouts);
    return shard;
  });
}

ScoredShard read_scores(const fs::path& run_dir, const PublishedFile& file) {
  return reading(run_dir / file.path, [&] {
    check_published(run_dir, file);
    TableReader reader(run_dir / file.path);
    check_schema(reader, "scores");
    KeyColumns keys;
    ScoreColumns columns;
    reader.read(keys);
    reader.read(columns);
    reader.check_counts();
    ScoredShard scores;
    read_address(reader, scores);
    scores.component_names = reader.component_names();
    scores.scores = scores_of(keys, columns, scores.component_names.size());
    return scores;
  });
}

}  // namespace rollcall::io
