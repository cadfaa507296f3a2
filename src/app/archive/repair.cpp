// rollcall archive repair: sets aside what is damaged or not committed, says what is lost and what a resume will draw again. Deletes nothing.
#include "app/archive/committed.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// One thing to move, and why.
struct Move {
  std::string path, why;
};

/// What has to be done, found out before anything is touched.
struct Diagnosis {
  std::vector<io::ArchiveEntry> sound, damaged;  ///< archive files
  std::optional<Committed> resume;               ///< the newest checkpoint whose shards are all there and whole
  std::vector<Move> moves;                       ///< in the order they are told
  std::string rebuilt;                           ///< where the manifest is kept that could not be read; empty: there was none
  std::map<std::string, std::string> left_out;   ///< archive files that a rebuilt manifest could not take in, and why
};

/// Without a manifest nothing else can be judged, so a new one is written at once.
void judge_manifest(const fs::path& run_dir, Diagnosis& d) {
  try {
    io::open_source(run_dir);
    const auto files = io::list_files(run_dir);
    const bool forgotten = std::any_of(files.others.begin(), files.others.end(), [](const io::RunFile& file) { return file.state == io::FileState::unlisted; });
    if (!forgotten || fs::exists(run_dir / "archive" / "manifest.json")) return;
  } catch (const StorageError&) {  // what is wrong with it is told by the file that is kept
  }
  d.rebuilt = io::new_set_aside(run_dir) + "/manifest.json";
  for (const auto& fault : io::rebuild_manifest(run_dir, d.rebuilt)) d.left_out[fault.file] = fault.problem;
}

void judge_archive(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& entry : io::read_manifest(run_dir)) {
    const auto faults = io::verify_archive(run_dir, entry);
    (faults.empty() ? d.sound : d.damaged).push_back(entry);
    if (!faults.empty() && fs::exists(run_dir / entry.file.path)) d.moves.push_back({entry.file.path, faults.front().problem});
  }
}

/// The first shard of a checkpoint that is neither in a sound archive file nor whole; empty when there is none.
std::string broken_shard(const fs::path& run_dir, const Committed& checkpoint, const std::vector<io::ArchiveEntry>& sound) {
  for (const auto& [path, published] : checkpoint.files) {
    if (!is_packed(sound, path) && !io::verify_shard(run_dir, path, published).empty()) return path;
  }
  return {};
}

/// From the newest on: a checkpoint that cannot be gone on with is set aside, so that a resume finds the one before.
void judge_checkpoints(const fs::path& run_dir, Diagnosis& d) {
  auto names = io::list_checkpoints(run_dir);
  for (auto name = names.rbegin(); name != names.rend() && !d.resume; ++name) {
    try {
      Committed checkpoint = read_committed(run_dir, *name, Depth::whole);
      const std::string broken = broken_shard(run_dir, checkpoint, d.sound);
      if (broken.empty()) d.resume = std::move(checkpoint);
      else d.moves.push_back({"checkpoints/" + *name, fmt::format("it goes on with {}, which is damaged or missing", broken)});
    } catch (const StorageError& fault) {
      d.moves.push_back({"checkpoints/" + *name, fault.what()});
    }
  }
}

void judge_shards(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& file : io::list_files(run_dir).others) {
    if (file.state == io::FileState::partial) d.moves.push_back({file.path, "it was never published"});
    if (const auto why = d.left_out.find(file.path); why != d.left_out.end()) d.moves.push_back({file.path, why->second});
    else if (file.state == io::FileState::unlisted) d.moves.push_back({file.path, "the manifest does not name it; its shards stayed"});
    if (file.state != io::FileState::shard) continue;
    if (d.resume && d.resume->files.contains(file.path) && !is_packed(d.sound, file.path)) continue;  // whole, or the checkpoint would not have been taken
    const auto faults = io::verify_shard(run_dir, file.path, std::nullopt);
    d.moves.push_back({file.path, !faults.empty()                 ? faults.front().problem
                                  : is_packed(d.sound, file.path) ? "the archive holds its step"
                                                                  : "no checkpoint has it behind it"});
  }
}

/// Moves everything; archive files leave the manifest first, so that a crash in between loses sight of nothing.
void set_aside(const fs::path& run_dir, const Diagnosis& d, Output& out) {
  std::vector<std::string> paths, withdrawn;
  for (const auto& move : d.moves) paths.push_back(move.path);
  for (const auto& entry : d.damaged) withdrawn.push_back(entry.file.path);
  const std::string folder = d.rebuilt.empty() ? io::new_set_aside(run_dir) : fs::path(d.rebuilt).parent_path().string();
  if (d.rebuilt.empty()) io::withdraw(run_dir, withdrawn, folder + "/manifest.json");
  io::move_to(run_dir, paths, folder);
  for (const auto& move : d.moves) out.write(fmt::format("set aside  {}: {}\n", move.path, move.why));
  if (!d.rebuilt.empty())
    out.write(fmt::format("rebuilt    archive/manifest.json from {} archive files; a file that is missing altogether would not be missed\n", d.sound.size()));
  out.write(fmt::format("kept in    {}, with the manifest as it was where it has changed\n", (run_dir / folder).string()));
}

/// Its first and last step as shards of that name would have them.
std::vector<std::string> ends_of(const io::ArchiveEntry& entry) {
  const Purpose purpose = io::purpose_from_text(entry.purpose);
  return {io::ShardName{.purpose = purpose, .step = entry.first_step}.path(), io::ShardName{.purpose = purpose, .step = entry.last_step}.path()};
}

void tell_losses(const Diagnosis& d, Output& out) {
  std::vector<std::string> again;
  for (const auto& move : d.moves) {
    const auto name = io::ShardName::parse(move.path);
    if (name && move.path.starts_with("shards/") && !is_packed(d.sound, move.path)) again.push_back(move.path);
  }
  for (const auto& [path, why] : d.left_out) out.write(fmt::format("lost       what only {} holds; a copy of the file brings it back\n", path));
  for (const auto& entry : d.damaged) {
    const bool kept = d.resume && std::any_of(d.resume->files.begin(), d.resume->files.end(), [&](const auto& file) { return is_packed({entry}, file.first); });
    const bool redrawn = !d.resume || entry.first_step > std::uint64_t(d.resume->state.train_steps);
    const auto ends = ends_of(entry);
    if (kept) out.write(fmt::format("kept       {}: the shards of {} are still there and will be packed again\n", entry.file.path, steps_text(ends)));
    else if (redrawn) again.insert(again.end(), ends.begin(), ends.end());
    else
      out.write(fmt::format("lost       {}: {} groups, {} rollouts of {}; only a copy of the file brings them back\n", entry.file.path, entry.groups,
                            entry.rollouts, steps_text(ends)));
  }
  if (!again.empty()) out.write(fmt::format("again      a resume draws {} again, with the same numbers\n", steps_text(again)));
  out.write(d.resume ? fmt::format("resume     from checkpoint {}, {} training steps\n", d.resume->checkpoint, d.resume->state.train_steps)
                     : "resume     from the beginning: no checkpoint can be gone on with\n");
}

ExitCode repair(const fs::path& run_dir) {
  require(fs::is_directory(run_dir), fmt::format("{} is not a run folder", run_dir.string()), "one file cannot be repaired, only set aside in its run",
          "name the run folder");
  const FolderLock lock(run_dir, "rollcall archive repair");
  Diagnosis diagnosis;
  judge_manifest(run_dir, diagnosis);
  judge_archive(run_dir, diagnosis);
  judge_checkpoints(run_dir, diagnosis);
  judge_shards(run_dir, diagnosis);
  Output out;
  if (diagnosis.moves.empty() && diagnosis.damaged.empty() && diagnosis.rebuilt.empty()) {
    out.write("nothing is damaged and everything is committed\n");
  } else {
    set_aside(run_dir, diagnosis, out);
    tell_losses(diagnosis, out);
  }
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_repair(CLI::App& command, Action& action) {
  auto path = std::make_shared<std::string>();
  auto* verb = command.add_subcommand("repair", "set aside what is damaged or not committed and say what a resume will do; deletes nothing");
  verb->add_option("run", *path, "run folder; its job must have ended")->required();
  verb->callback([path, &action] { action = [path] { return repair(*path); }; });
}

}  // namespace rollcall::app::archive
