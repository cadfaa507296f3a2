// rollcall archive repair: sets aside what is damaged or not committed, and says what is lost and
// what a resume will sample again. It deletes nothing.
#include "app/archive/diagnosis.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/error.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "run/checkpoint/part.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// Writes the checkpoint again without the lost shards. The earlier state of it is kept.
void rewrite_checkpoint(const fs::path& run_dir, const Committed& committed,
                        const std::string& folder) {
  const io::StoredCheckpoint before(run_dir, committed.checkpoint);
  const std::string state = run::file_of(run::Part::coordinator);
  write_file_atomic(run_dir / folder / state, before.read(state));
  io::CheckpointShare share{.files = {}, .earlier = before.name(), .unchanged = {}};
  for (const auto& [file, facts] : before.files()) {
    if (file != state) share.unchanged.push_back(file);
  }
  share.files[state] = [text = run::to_json(committed.state)] { return text; };
  io::write_checkpoint(run_dir, before.name(), share);
}

/// Repairs in an order that a second repair can continue at any point: an archive file is named
/// before shards of its steps are removed.
void mend(const fs::path& run_dir, const Diagnosis& d, Output& out) {
  std::vector<std::string> paths, withdrawn;
  for (const auto& move : d.moves) paths.push_back(move.path);
  for (const auto& entry : d.damaged) withdrawn.push_back(entry.file.path);
  const std::string folder =
      d.rebuilt.empty() ? io::new_set_aside(run_dir) : fs::path(d.rebuilt).parent_path().string();
  if (!d.lost.empty()) rewrite_checkpoint(run_dir, *d.resume, folder);
  const std::string copy =
      folder + (d.rebuilt.empty() ? "/manifest.json" : "/manifest-rebuilt.json");
  io::amend(run_dir, {}, d.readmitted, copy);
  io::move_to(run_dir, paths, folder);
  io::amend(run_dir, withdrawn, {}, copy);
  for (const auto& move : d.moves)
    out.write(visible_format("set aside  {}: {}\n", move.path, move.why));
  for (const auto& entry : d.readmitted)
    out.write(visible_format("readmitted {}: it is whole, and the manifest names it again\n",
                             entry.file.path));
  if (!d.rebuilt.empty())
    out.write(visible_format(
        "rebuilt    archive/manifest.json from {} archive files; a file that is missing altogether "
        "would go unnoticed\n",
        d.sound.size()));
  std::error_code left;
  fs::remove(run_dir / folder, left);
  if (left == std::errc::directory_not_empty)
    out.write(visible_format(
        "kept in    {}, with the old manifest and checkpoint state where those have changed\n",
        (run_dir / folder).string()));
  else if (left)
    out.write(
        visible_format("left over  {}, empty: {}\n", (run_dir / folder).string(), left.message()));
}

/// Whether a resume samples these steps again: those after its checkpoint, or an evaluation at the
/// checkpoint's step without a result.
bool is_drawn_again(const Diagnosis& d, const Steps& steps) {
  if (!d.resume) return true;
  const auto& state = d.resume->state;
  const auto done = std::uint64_t(state.train_steps);
  const bool evaluated = (steps.first == 0 ? state.before : state.after).has_value();
  return steps.first > done ||
         (steps.purpose == Purpose::eval && steps.first == done && !evaluated);
}

/// Sorts the steps of shards that are moved or that were removed from the checkpoint: a step will
/// be sampled again, or it is lost. Steps that an archive file holds or held are left out.
void sort_shards(const Diagnosis& d, std::vector<Steps>& again, std::vector<Steps>& lost) {
  std::vector<std::string> shards = d.lost;
  for (const auto& move : d.moves)
    if (move.path.starts_with("shards/")) shards.push_back(move.path);
  for (const std::string& path : shards) {
    const auto name = io::ShardName::parse(path);
    if (!name || is_packed(d.sound, path) || is_packed(d.readmitted, path) ||
        is_packed(d.damaged, path))
      continue;
    const Steps step{name->purpose, name->step, name->step};
    (is_drawn_again(d, step) ? again : lost).push_back(step);
  }
}

/// Whether the remaining steps of the run would replay groups of training.
bool goes_on_to_replay(const fs::path& run_dir, const Diagnosis& d) {
  try {
    const RunConfig config = run::read_run_folder(run_dir);
    return config.replay.share > 0 && d.resume && d.resume->state.train_steps < config.train.steps;
  } catch (const Error&) {  // without a run file no resume is possible either
    return false;
  }
}

void tell_losses(const fs::path& run_dir, const Diagnosis& d, Output& out) {
  std::vector<Steps> again, lost;
  sort_shards(d, again, lost);
  bool training_lost = std::any_of(
      lost.begin(), lost.end(), [](const Steps& steps) { return steps.purpose == Purpose::train; });
  if (!lost.empty())
    out.write(visible_format(
        "lost       {}: shards are damaged or missing, and no checkpoint is left from which to "
        "draw them again\n",
        steps_text(lost)));
  for (const auto& [path, why] : d.left_out)
    out.write(visible_format(
        "lost       what only {} held; to bring it back, put a copy of the file in its place and "
        "repair again\n",
        path));
  for (const auto& entry : d.damaged) {
    const Steps steps{io::purpose_from_text(entry.purpose), entry.first_step, entry.last_step};
    const auto of_entry = [&](const std::string& shard) { return is_packed({entry}, shard); };
    const bool kept = d.resume && std::none_of(d.lost.begin(), d.lost.end(), of_entry) &&
                      std::any_of(d.resume->files.begin(), d.resume->files.end(),
                                  [&](const auto& file) { return of_entry(file.first); });
    if (kept)
      out.write(visible_format(
          "kept       {}: the shards of {} are still there and will be packed again\n",
          entry.file.path, steps_text({steps})));
    else if (is_drawn_again(d, steps)) again.push_back(steps);
    else {
      training_lost = training_lost || steps.purpose == Purpose::train;
      out.write(visible_format(
          "lost       {}: {} groups, {} rollouts of {}; to bring them back, put a copy of the file "
          "in its place and repair again\n",
          entry.file.path, entry.groups, entry.rollouts, steps_text({steps})));
    }
  }
  if (training_lost && goes_on_to_replay(run_dir, d))
    out.write(
        "replay     replay.share is above 0: where the run would have replayed what is lost, it "
        "replays other groups and ends with other weights\n");
  if (!again.empty())
    out.write(visible_format("again      a resume draws {} again, with the same numbers\n",
                             steps_text(again)));
  out.write(
      d.resume ? fmt::format("resume     from checkpoint {}, {} training steps\n",
                             d.resume->checkpoint, d.resume->state.train_steps)
      : d.sound.empty()
          ? "resume     no usable checkpoint: a run starts from the beginning, an evaluation is "
            "repeated\n"
          : "resume     no usable checkpoint, but packed steps: restore checkpoints/ from a copy, "
            "or start a new run in another folder; an evaluation is repeated\n");
}

ExitCode repair(const fs::path& run_dir) {
  require(fs::is_directory(run_dir), fmt::format("{} is not a run folder", run_dir.string()),
          "one file cannot be repaired, only set aside in its run", "name the run folder");
  const FolderLock lock(run_dir, "rollcall archive repair");
  const Diagnosis diagnosis = [&] {
    const LongPhase phase("reading the files of " + run_dir.string());
    return diagnose(run_dir);
  }();
  end_on_stop_signals("nothing is deleted, and what was moved is in set_aside; repair again");
  Output out;
  if (diagnosis.moves.empty() && diagnosis.damaged.empty() && diagnosis.rebuilt.empty() &&
      diagnosis.readmitted.empty() && diagnosis.lost.empty()) {
    out.write("nothing is damaged and everything is committed\n");
  } else {
    mend(run_dir, diagnosis, out);
    tell_losses(run_dir, diagnosis, out);
  }
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_repair(Command command) {
  auto path = std::make_shared<std::string>();
  auto verb = command.command(
      "repair",
      "set aside what is damaged or not committed and say what a resume will do; deletes nothing");
  verb.option("run", *path, "run folder; its job must have ended").required();
  verb.runs([path] { return repair(*path); });
}

}  // namespace rollcall::app::archive
