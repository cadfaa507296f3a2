// rollcall archive repair: sets aside what is damaged or not committed, says what is lost and what a resume will draw again. Deletes nothing.
#include "app/archive/diagnosis.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// The checkpoint without what is lost; its state as it was is kept.
void rewrite_checkpoint(const fs::path& run_dir, const Committed& committed, const std::string& folder) {
  io::Checkpoint checkpoint = io::read_checkpoint(run_dir, committed.checkpoint);
  std::string& state = checkpoint.files.at(kCoordinatorState);
  write_file_atomic(run_dir / folder / kCoordinatorState, state);
  state = stages::to_json(committed.state);
  io::write_checkpoint(run_dir, checkpoint);
}

/// In an order that a second repair can take up at any point: a file is named before shards of its steps go, and missed as long as it is still named.
void mend(const fs::path& run_dir, const Diagnosis& d, Output& out) {
  std::vector<std::string> paths, withdrawn;
  for (const auto& move : d.moves) paths.push_back(move.path);
  for (const auto& entry : d.damaged) withdrawn.push_back(entry.file.path);
  const std::string folder = d.rebuilt.empty() ? io::new_set_aside(run_dir) : fs::path(d.rebuilt).parent_path().string();
  if (!d.lost.empty()) rewrite_checkpoint(run_dir, *d.resume, folder);
  const std::string copy = folder + (d.rebuilt.empty() ? "/manifest.json" : "/manifest-rebuilt.json");
  io::amend(run_dir, {}, d.readmitted, copy);
  io::move_to(run_dir, paths, folder);
  io::amend(run_dir, withdrawn, {}, copy);
  for (const auto& move : d.moves) out.write(fmt::format("set aside  {}: {}\n", move.path, move.why));
  for (const auto& entry : d.readmitted) out.write(fmt::format("readmitted {}: it is whole, and the manifest names it again\n", entry.file.path));
  if (!d.rebuilt.empty())
    out.write(fmt::format("rebuilt    archive/manifest.json from {} archive files; a file that is missing altogether would not be missed\n", d.sound.size()));
  if (fs::is_empty(run_dir / folder)) fs::remove(run_dir / folder);
  else out.write(fmt::format("kept in    {}, with the manifest and a checkpoint's state as they were where they have changed\n", (run_dir / folder).string()));
}

/// Its first and last step as shards of that name would have them.
std::vector<std::string> ends_of(const io::ArchiveEntry& entry) {
  const Purpose purpose = io::purpose_from_text(entry.purpose);
  return {io::ShardName{.purpose = purpose, .step = entry.first_step}.path(), io::ShardName{.purpose = purpose, .step = entry.last_step}.path()};
}

/// By a resume: what comes behind the checkpoint, such as an evaluation at its very step that it has no result of.
bool is_drawn_again(const io::ArchiveEntry& entry, const stages::CoordinatorState& state) {
  const auto done = std::uint64_t(state.train_steps);
  const bool evaluated = (entry.first_step == 0 ? state.before : state.after).has_value();
  return entry.first_step > done || (io::purpose_from_text(entry.purpose) == Purpose::eval && entry.first_step == done && !evaluated);
}

void tell_losses(const Diagnosis& d, Output& out) {
  std::vector<std::string> again;
  for (const auto& move : d.moves) {
    const auto name = io::ShardName::parse(move.path);
    const bool lost = std::find(d.lost.begin(), d.lost.end(), move.path) != d.lost.end();
    if (name && !lost && move.path.starts_with("shards/") && !is_packed(d.sound, move.path) && !is_packed(d.readmitted, move.path)) again.push_back(move.path);
  }
  std::vector<std::string> lost;
  std::copy_if(d.lost.begin(), d.lost.end(), std::back_inserter(lost), [&](const std::string& path) { return !is_packed(d.damaged, path); });
  if (!lost.empty())
    out.write(fmt::format("lost       {}: their shards are damaged or missing, and no checkpoint is left from which to draw them again\n", steps_text(lost)));
  for (const auto& [path, why] : d.left_out)
    out.write(fmt::format("lost       what only {} holds; a copy of the file, put in its place and repaired again, brings it back\n", path));
  for (const auto& entry : d.damaged) {
    const auto of_entry = [&](const std::string& shard) { return is_packed({entry}, shard); };
    const bool kept = d.resume && std::none_of(d.lost.begin(), d.lost.end(), of_entry) &&
                      std::any_of(d.resume->files.begin(), d.resume->files.end(), [&](const auto& file) { return of_entry(file.first); });
    const bool redrawn = !d.resume || is_drawn_again(entry, d.resume->state);
    const auto ends = ends_of(entry);
    if (kept) out.write(fmt::format("kept       {}: the shards of {} are still there and will be packed again\n", entry.file.path, steps_text(ends)));
    else if (redrawn) again.insert(again.end(), ends.begin(), ends.end());
    else
      out.write(fmt::format("lost       {}: {} groups, {} rollouts of {}; only a copy of the file, put in its place and repaired again, brings them back\n",
                            entry.file.path, entry.groups, entry.rollouts, steps_text(ends)));
  }
  if (!again.empty()) out.write(fmt::format("again      a resume draws {} again, with the same numbers\n", steps_text(again)));
  out.write(d.resume ? fmt::format("resume     from checkpoint {}, {} training steps\n", d.resume->checkpoint, d.resume->state.train_steps)
                     : "resume     no checkpoint can be gone on with: a run begins anew, an evaluation is made again\n");
}

ExitCode repair(const fs::path& run_dir) {
  require(fs::is_directory(run_dir), fmt::format("{} is not a run folder", run_dir.string()), "one file cannot be repaired, only set aside in its run",
          "name the run folder");
  const FolderLock lock(run_dir, "rollcall archive repair");
  const Diagnosis diagnosis = diagnose(run_dir);
  Output out;
  if (diagnosis.moves.empty() && diagnosis.damaged.empty() && diagnosis.rebuilt.empty() && diagnosis.readmitted.empty() && diagnosis.lost.empty()) {
    out.write("nothing is damaged and everything is committed\n");
  } else {
    mend(run_dir, diagnosis, out);
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
