// Reads the archive of a run, computes its content hash, and tidies up after a crash.
#include "io/archive.hpp"

#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "io/canonical.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/manifest.hpp"
#include "io/published.hpp"
#include "io/run_files.hpp"
#include "io/source.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;

bool overlap(const ArchiveEntry& entry, Purpose purpose, std::uint64_t first_step,
             std::uint64_t last_step) {
  return entry.purpose == text_of(purpose) && entry.first_step <= last_step &&
         first_step <= entry.last_step;
}

bool holds(const ArchiveEntry& entry, Purpose purpose, std::uint64_t step) {
  return overlap(entry, purpose, step, step);
}

bool any_holds(const std::vector<ArchiveEntry>& entries, Purpose purpose, std::uint64_t step) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const ArchiveEntry& entry) { return holds(entry, purpose, step); });
}

std::vector<ArchiveEntry> read_manifest(const fs::path& run_dir) {
  return load_manifest(run_dir).files;
}

void await_packed(const fs::path& run_dir, const std::string& name, double longest_s) {
  const std::string path = "archive/" + name + ".h5";
  std::exception_ptr fault;  // from the last attempt, which may fail because the manifest is being
                             // replaced just then
  const auto named = [&] {
    fault = nullptr;
    if (!file_seen_in_time(run_dir / path, 0.0)) return false;
    try {
      const auto entries = parse_manifest(run_dir / "archive" / "manifest.json").files;
      return std::any_of(entries.begin(), entries.end(),
                         [&](const ArchiveEntry& entry) { return entry.file.path == path; });
    } catch (const StorageError&) {
      fault = std::current_exception();
      return false;
    }
  };
  const bool seen = wait_until_visible(named, longest_s);
  if (fault) std::rethrow_exception(fault);
  require<StorageError>(
      seen,
      fmt::format("{} cannot be seen here {:.0f} s after it was packed", (run_dir / path).string(),
                  longest_s),
      "the run ends with what its archive holds",
      "put run.dir on a file system that all nodes share; if it already is, check that file system");
}

std::vector<ArchivedGroup> read_archive(const fs::path& run_dir, const ArchiveEntry& entry,
                                        std::vector<std::string>* component_names) {
  return reading(run_dir / entry.file.path, [&] {
    check_published(run_dir, entry.file);
    TableReader reader(run_dir / entry.file.path);
    check_schema(reader, "archive");
    KeyColumns keys;
    RolloutColumns rollouts;
    ScoreColumns scores;
    StepTraining training;  // training records for all steps in the file, with the keys of all
                            // groups
    reader.read(keys);
    reader.read(rollouts);
    reader.read(scores);
    reader.read(training.columns);
    check_archive(reader, entry);
    const auto names = reader.component_names();
    if (component_names != nullptr) *component_names = names;
    auto groups = groups_of(keys, rollouts);
    auto prompts = prompts_of(rollouts);
    auto verdicts = scores_of(keys, scores, names.size());
    const Purpose purpose = purpose_of(reader);
    std::vector<ArchivedGroup> archived;
    for (std::size_t g = 0; g < groups.size(); ++g)
      archived.push_back({purpose, keys.step[g], std::move(groups[g]), std::move(prompts[g]),
                          std::move(verdicts[g]), rollouts.temperature[g]});
    training.keys = std::move(keys);
    for (ArchivedGroup& each : archived) each.training = training_of(training, each.group);
    return archived;
  });
}

std::string archive_sha256(const fs::path& run_dir) {
  if (!is_run_folder(run_dir)) return Sha256().hex();  // nothing has been sampled yet
  const Source source = open_source(run_dir);
  require<StorageError>(
      source.unscored.empty(),
      source.unscored.empty()
          ? ""
          : fmt::format("{} has no scores beside it", (run_dir / source.unscored.front()).string()),
      "the content of the run is incomplete", "resume the run and let it finish the step");
  Sha256 all;
  std::optional<std::tuple<Purpose, std::uint64_t, GroupId>> last;
  each_group(run_dir, {},
             [&](const ArchivedGroup& group, const std::vector<std::string>& component_names) {
               const std::tuple key(group.purpose, group.step, group.group.id);
               require<StorageError>(
                   !last || *last < key,
                   fmt::format("{}: {} step {}, prompt {}, draw {} occurs twice", run_dir.string(),
                               text_of(group.purpose), group.step, group.group.id.prompt.value,
                               group.group.id.draw),
                   "a packed step was drawn again or two files hold one step",
                   "move the wrong file out of the run folder");
               last = key;
               all.add(group_digest(group, component_names));
               return true;
             });
  return all.hex();
}

namespace {

void remove_partial(const fs::path& path, Removed* removed) {
  std::error_code ec, unknown;
  const std::uint64_t bytes = fs::file_size(path, unknown);
  fs::remove(path, ec);
  require<StorageError>(!ec, fmt::format("cannot remove {}: {}", path.string(), ec.message()),
                        "it was never published and takes up space",
                        "check permissions, then start again");
  if (removed != nullptr) ++removed->files, removed->bytes += unknown ? 0 : bytes;
}

}  // namespace

int end_interrupted_pack(const fs::path& run_dir) {
  return remove_replaced(run_dir, load_manifest(run_dir));
}

int set_aside_unfinished(const fs::path& run_dir, const std::vector<PublishedFile>& keep,
                         Removed* removed) {
  const Manifest manifest = load_manifest(run_dir);
  remove_replaced(run_dir, manifest);
  std::set<std::string> known;
  for (const PublishedFile& file : keep) known.insert(file.path);
  for (const ArchiveEntry& entry : manifest.files) known.insert(entry.file.path);
  std::vector<std::string> loose;
  for (const char* folder : {"shards", "archive"}) {
    for (const auto& file : list_folder(run_dir / folder)) {
      const std::string extension = file.path().extension(),
                        path = fs::path(folder) / file.path().filename();
      // A partial file was never published, so no message names it.
      if (extension == ".partial") remove_partial(file.path(), removed);
      else if (extension == ".h5" && !known.contains(path)) loose.push_back(path);
    }
  }
  if (!loose.empty()) move_to(run_dir, loose, new_set_aside(run_dir));
  return int(loose.size());
}

}  // namespace rollcall::io
