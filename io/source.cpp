// Lists the files of a source and walks through them in canonical order.
#include "io/source.hpp"

#include "base/errors/nearest.hpp"
#include "core/run_record.hpp"
#include "io/canonical.hpp"
#include "io/fault.hpp"
#include "io/published.hpp"
#include "io/shard_name.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using StepKey = std::pair<Purpose, std::uint64_t>;

StepKey first_of(const ArchiveEntry& entry) {
  return {purpose_from_text(entry.purpose), entry.first_step};
}
StepKey last_of(const ArchiveEntry& entry) {
  return {purpose_from_text(entry.purpose), entry.last_step};
}

ShardName training_name(const ShardName& shard) {
  return {.purpose = shard.purpose, .step = shard.step, .holds = Holds::training};
}

Source list_run(const fs::path& run_dir) {
  Source source{.root = run_dir};
  const auto names = list_shards(run_dir);  // before the manifest, so that a shard that is
                                            // packed in between is in both lists
  source.packed = read_manifest(run_dir);
  std::sort(source.packed.begin(), source.packed.end(),
            [](const ArchiveEntry& a, const ArchiveEntry& b) { return first_of(a) < first_of(b); });
  for (const ShardName& name : names) {
    if (name.holds == Holds::scores || any_holds(source.packed, name.purpose, name.step)) continue;
    if (name.holds == Holds::training) {
      source.training.push_back(name.path());
      continue;
    }
    ShardName scores = name;
    scores.holds = Holds::scores;
    const bool scored =
        name.holds == Holds::both || std::binary_search(names.begin(), names.end(), scores);
    (scored ? source.loose : source.unscored).push_back(name.path());
  }
  return source;
}

Source one_file(const fs::path& path) {
  Source source{.root = path.parent_path(), .is_run = false};
  const std::string name = path.filename();
  if (auto shard = ShardName::parse(path)) {
    require(shard->holds != Holds::training,
            fmt::format("{} says what a step trained on, and holds no rollouts", path.string()),
            "it is read with its step's shards",
            "name one of them, the run folder or an archive file");
    if (shard->holds == Holds::scores) shard->holds = Holds::rollouts;
    const std::string own = fs::path(shard->path()).filename();
    require(fs::exists(source.root / own) && fs::exists(source.root / scores_path(own)),
            fmt::format("{} is half of a shard", path.string()),
            "what was sampled and how it was scored are two files here until they are packed",
            fmt::format("put {} and {} side by side, or name the run folder or an archive file",
                        own, scores_path(own)));
    source.loose = {own};
    const std::string training = fs::path(training_name(*shard).path()).filename();
    if (shard->purpose == Purpose::train && fs::exists(source.root / training))
      source.training = {training};
    return source;
  }
  if (source.root.filename() == "archive" && fs::exists(source.root / "manifest.json")) {
    for (const ArchiveEntry& entry : read_manifest(source.root.parent_path()))
      if (entry.file.path == "archive/" + name)
        return {.root = source.root.parent_path(),
                .is_run = false,
                .packed = {entry},
                .loose = {},
                .unscored = {}};
  }
  source.packed = {describe(source.root, name)};
  return source;
}

/// One file of an archive, or the shards of one step.
struct Part {
  StepKey first, last;
  const ArchiveEntry* packed = nullptr;
  std::vector<std::string> shards = {};
  std::string training = {};  ///< the step's training file; empty if not recorded
};

std::vector<Part> parts_of(const Source& source) {
  std::vector<Part> parts;
  for (const ArchiveEntry& entry : source.packed)
    parts.push_back({first_of(entry), last_of(entry), &entry});
  for (const std::string& path : source.loose) {
    const ShardName name = *ShardName::parse(path);
    const StepKey step{name.purpose, name.step};
    if (parts.empty() || parts.back().packed != nullptr || parts.back().first != step)
      parts.push_back({step, step});
    parts.back().shards.push_back(path);
  }
  for (const std::string& path : source.training) {
    const ShardName name = *ShardName::parse(path);
    for (Part& part : parts)
      if (part.packed == nullptr && part.first == StepKey{name.purpose, name.step})
        part.training = path;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.first < b.first; });
  return parts;
}

std::vector<ArchivedGroup> read_part(const Source& source, const Part& part,
                                     std::vector<std::string>& component_names) {
  if (part.packed != nullptr) return read_archive(source.root, *part.packed, &component_names);
  std::vector<ArchivedGroup> groups;
  for (const std::string& path : part.shards) {
    const PublishedFile shard = inspect(source.root, path);
    const std::string scores = scores_path(path);
    append_scored(source.root, {shard, scores == path ? shard : inspect(source.root, scores)},
                  groups, component_names);
  }
  groups = canonical(std::move(groups));
  if (part.training.empty()) return groups;
  const StepTraining training = read_training(source.root, inspect(source.root, part.training));
  for (ArchivedGroup& group : groups) group.training = training_of(training, group.group);
  return groups;
}

bool concerns(const Selection& s, const Part& part) {
  return (!s.purpose || *s.purpose == part.first.first) && part.first.second <= s.last_step &&
         s.first_step <= part.last.second;
}

bool selects(const Selection& s, const ArchivedGroup& g) {
  return (!s.purpose || *s.purpose == g.purpose) && s.first_step <= g.step &&
         g.step <= s.last_step && (!s.prompt || *s.prompt == g.group.id.prompt.value);
}

/// Whether a file of the listing is gone, because the run has packed it in the meantime.
bool is_stale(const Source& source) {
  const auto gone = [&](const std::string& path) { return !fs::exists(source.root / path); };
  return source.is_run &&
         (std::any_of(source.training.begin(), source.training.end(), gone) ||
          std::any_of(source.loose.begin(), source.loose.end(),
                      [&](const auto& path) { return gone(path) || gone(scores_path(path)); }));
}

/// Visits everything after `after`; `done` receives how far the walk got.
void walk(const Source& source, const Selection& selection, const Visit& visit,
          const std::optional<StepKey> after, std::optional<StepKey>& done) {
  for (const Part& part : parts_of(source)) {
    if (!concerns(selection, part) || (after && part.last <= *after)) continue;
    std::vector<std::string> component_names;
    for (const ArchivedGroup& group : read_part(source, part, component_names)) {
      if (after && StepKey{group.purpose, group.step} <= *after) continue;
      if (selects(selection, group) && !visit(group, component_names)) return;
    }
    done = part.last;
  }
}

}  // namespace

std::string scores_path(const std::string& shard_path) {
  auto name = *ShardName::parse(shard_path);
  if (name.holds == Holds::both) return shard_path;
  name.holds = Holds::scores;
  return fs::path(shard_path).replace_filename(fs::path(name.path()).filename()).string();
}

std::vector<std::string> files_of_shard(const std::string& shard_path) {
  std::vector<std::string> files{shard_path};
  if (auto scores = scores_path(shard_path); scores != shard_path)
    files.push_back(std::move(scores));
  return files;
}

Purpose purpose_from_text(const std::string& text) {
  const auto place = std::find(kPurposes.begin(), kPurposes.end(), text);
  const std::vector<std::string> names(kPurposes.begin(), kPurposes.end());
  require(place != kPurposes.end(), fmt::format("there is no purpose \"{}\"", text),
          "every rollout is drawn for one of them", suggest_name(text, names));
  return Purpose(place - kPurposes.begin());
}

bool is_run_folder(const fs::path& path) {
  return fs::exists(path / "shards") || fs::exists(path / "archive") || holds_record(path);
}

Source open_source(const fs::path& path) {
  require(fs::exists(path), fmt::format("{} does not exist", path.string()),
          "there are no rollouts to read", "name a run folder or an HDF5 file of one");
  if (fs::is_directory(path)) {
    require(is_run_folder(path), fmt::format("{} is not a run folder", path.string()),
            "it holds neither the config.toml of a run nor shards nor an archive",
            "name the folder that run.dir named, or an HDF5 file of it");
    return list_run(path);
  }
  require(path.extension() == ".h5", fmt::format("{} is not an HDF5 file of a run", path.string()),
          "their names end in .h5", "name a run folder or an HDF5 file of one");
  return one_file(fs::absolute(path));
}

std::string digest_of(const Source& source, const std::vector<Purpose>& purposes) {
  std::string text;
  const auto add = [&](Purpose purpose, const PublishedFile& file) {
    if (std::find(purposes.begin(), purposes.end(), purpose) != purposes.end())
      text += fmt::format("{} {} {}\n", fs::path(file.path).filename().string(), file.bytes,
                          hex64(file.checksum));
  };
  for (const ArchiveEntry& entry : source.packed) add(purpose_from_text(entry.purpose), entry.file);
  for (const std::string& path : source.loose) {
    for (const std::string& file : files_of_shard(path))
      add(ShardName::parse(path)->purpose, inspect(source.root, file));
  }
  for (const std::string& path : source.training)
    add(ShardName::parse(path)->purpose, inspect(source.root, path));
  return hex64(checksum64(text));
}

ArchiveEntry describe(const fs::path& root, const std::string& path) {
  const PublishedFile file = inspect(root, path);
  return reading(root / path, [&] {
    TableReader reader(root / path);
    check_schema(reader, "archive");
    ArchiveEntry entry{.file = file,
                       .purpose = text_of(purpose_of(reader)),
                       .first_step = reader.number<std::uint64_t>("first_step"),
                       .last_step = reader.number<std::uint64_t>("last_step")};
    entry.groups = reader.rows("groups/step"), entry.rollouts = reader.rows("rollouts/sample"),
    entry.tokens = reader.rows("tokens/id");
    return entry;
  });
}

void each_group(const fs::path& run_or_file, const Selection& selection, const Visit& visit) {
  std::optional<StepKey> done;
  std::vector<std::string> listed;  // shards in the last attempt
  for (;;) {
    const Source source = open_source(run_or_file);
    try {
      return walk(source, selection, visit, done, done);
    } catch (const Error&) {
      // another attempt makes sense only if the run has packed in between
      if (!is_stale(source) || source.loose == listed) throw;
      listed = source.loose;
    }
  }
}

RunIdentity identity_of(const fs::path& run_dir, const PublishedFile& file) {
  return reading(run_dir / file.path, [&] {
    check_published(run_dir, file);
    const TableReader reader(run_dir / file.path);
    return RunIdentity{.run_id = reader.text("run_id"),
                       .config_sha256 = reader.text("config_sha256"),
                       .data_hash = reader.text("data_hash"),
                       .binary_version = reader.text("binary_version"),
                       .slurm_job_id = reader.text("slurm_job_id"),
                       .seed = reader.number<std::uint64_t>("seed"),
                       .weights_hash = reader.number<std::int32_t>("schema_minor") < 2
                                           ? std::string()
                                           : reader.text("weights_hash"),
                       .judge = reader.text_if_any("judge"),
                       .numerics = reader.text_if_any("numerics"),
                       .parent = reader.text_if_any("parent"),
                       .grader = reader.text_if_any("grader"),
                       .environment = reader.text_if_any("environment")};
  });
}

}  // namespace rollcall::io
