// Reading the archive of a run, its content hash, and the tidying after a crash.
#include "io/archive.hpp"

#include "base/file.hpp"
#include "base/hash.hpp"
#include "io/canonical.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/manifest.hpp"
#include "io/published.hpp"
#include "io/shard_name.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using Key = std::tuple<Purpose, std::uint64_t, GroupId>;
using Digests = std::vector<std::pair<Key, std::string>>;

void add(Digests& digests, const std::vector<ArchivedGroup>& groups, const std::vector<std::string>& component_names) {
  for (const ArchivedGroup& group : groups) digests.emplace_back(Key{group.purpose, group.step, group.group.id}, group_digest(group, component_names));
}

/// Shards that are not packed, one (purpose, step) at a time, so that fragments of a group meet.
void add_unpacked(const fs::path& run_dir, const Manifest& manifest, Digests& digests) {
  const auto is_packed = [&](const PublishedFile& file) {
    return std::any_of(manifest.replaced.begin(), manifest.replaced.end(),
                       [&](const PublishedFile& r) { return r.path == file.path && r.checksum == file.checksum; });
  };
  std::vector<ArchivedGroup> groups;
  std::vector<std::string> component_names;
  const auto names = list_shards(run_dir);
  const auto flush = [&] {
    add(digests, canonical(std::exchange(groups, {})), component_names);
    component_names.clear();
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].scores) continue;
    const PublishedFile shard = inspect(run_dir, names[i].path());
    ShardName scores = names[i];
    scores.scores = true;
    if (is_packed(shard)) continue;
    require<StorageError>(std::binary_search(names.begin(), names.end(), scores), fmt::format("{} has no scores beside it", (run_dir / shard.path).string()),
                          "the content of the run is not complete", "resume the run and let it end the step");
    if (!groups.empty() && std::tie(groups.back().purpose, groups.back().step) != std::tie(names[i].purpose, names[i].step)) flush();
    append_scored(run_dir, {shard, inspect(run_dir, scores.path())}, groups, component_names);
  }
  flush();
}

}  // namespace

std::vector<ArchiveEntry> read_manifest(const fs::path& run_dir) { return load_manifest(run_dir).files; }

std::vector<ArchivedGroup> read_archive(const fs::path& run_dir, const ArchiveEntry& entry, std::vector<std::string>* component_names) {
  return reading(run_dir / entry.file.path, [&] {
    check_published(run_dir, entry.file);
    TableReader reader(run_dir / entry.file.path);
    check_schema(reader, "archive");
    KeyColumns keys;
    RolloutColumns rollouts;
    ScoreColumns scores;
    reader.read(keys);
    reader.read(rollouts);
    reader.read(scores);
    reader.check_counts();
    const Extents& n = reader.extents();
    if (n[index(Dim::group)] != entry.groups || n[index(Dim::rollout)] != entry.rollouts || n[index(Dim::token)] != entry.tokens)
      throw FileFault("it has other numbers of groups, rollouts or tokens than the manifest says");
    const auto names = reader.component_names();
    if (component_names != nullptr) *component_names = names;
    auto groups = groups_of(keys, rollouts);
    auto prompts = prompts_of(rollouts);
    auto verdicts = scores_of(keys, scores, names.size());
    const Purpose purpose = purpose_of(reader);
    std::vector<ArchivedGroup> archived;
    for (std::size_t g = 0; g < groups.size(); ++g)
      archived.push_back({purpose, keys.step[g], std::move(groups[g]), std::move(prompts[g]), std::move(verdicts[g]), rollouts.temperature[g]});
    return archived;
  });
}

std::string archive_sha256(const fs::path& run_dir) {
  const Manifest manifest = load_manifest(run_dir);
  Digests digests;
  for (const ArchiveEntry& entry : manifest.files) {
    std::vector<std::string> component_names;
    const auto groups = read_archive(run_dir, entry, &component_names);
    add(digests, groups, component_names);
  }
  add_unpacked(run_dir, manifest, digests);
  std::sort(digests.begin(), digests.end());
  Sha256 all;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto& [purpose, step, id] = digests[i].first;
    require<StorageError>(i == 0 || digests[i].first != digests[i - 1].first,
                          fmt::format("{}: {} step {}, prompt {}, draw {} is there twice", run_dir.string(), text_of(purpose), step, id.prompt.value, id.draw),
                          "a packed step was drawn again or two files hold one step", "move the wrong file out of the run folder");
    all.add(digests[i].second);
  }
  return all.hex();
}

namespace {

/// Where the file system says no, the caller hears of the file.
template <class Change>
void changing(const fs::path& path, const Change& change) {
  try {
    change();
  } catch (const fs::filesystem_error& fault) {
    throw StorageError(error_message(fmt::format("cannot move or remove {}: {}", path.string(), fault.code().message()), "a file of an unfinished step would be taken for the run's",
                                     "check free space and permissions, then start again"));
  }
}

}  // namespace

int set_aside_unfinished(const fs::path& run_dir, const std::vector<PublishedFile>& keep) {
  const Manifest manifest = load_manifest(run_dir);
  remove_replaced(run_dir, manifest);
  std::set<std::string> known;
  for (const PublishedFile& file : keep) known.insert(file.path);
  for (const ArchiveEntry& entry : manifest.files) known.insert(entry.file.path);
  std::vector<fs::path> loose;
  for (const char* folder : {"shards", "archive"}) {
    std::error_code absent;
    for (const auto& file : fs::directory_iterator(run_dir / folder, absent)) {
      const std::string extension = file.path().extension();
      if (extension == ".partial") changing(file.path(), [&] { fs::remove(file.path()); });  // never published: nobody was told of it
      else if (extension == ".h5" && !known.contains(fs::path(folder) / file.path().filename())) loose.push_back(file.path());
    }
  }
  if (loose.empty()) return 0;
  int n = 0;
  while (fs::exists(run_dir / "set_aside" / std::to_string(n))) ++n;
  const fs::path target = run_dir / "set_aside" / std::to_string(n);
  make_folder(target);
  for (const fs::path& file : loose) changing(file, [&] { fs::rename(file, target / file.filename()); });
  for (const char* folder : {"shards", "archive", "set_aside"})
    if (fs::exists(run_dir / folder)) fsync_path(run_dir / folder);
  return int(loose.size());
}

}  // namespace rollcall::io
