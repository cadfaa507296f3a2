// Judges the manifest, the archive files it names, the checkpoints from the newest on, and what is left.
#include "app/archive/diagnosis.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// Without a manifest nothing else can be judged, so a new one is written at once.
void judge_manifest(const fs::path& run_dir, Diagnosis& d) {
  const fs::path manifest = run_dir / "archive" / "manifest.json";
  if (fs::exists(manifest)) read_file(manifest);  // a disk that fails is not mended by a new manifest
  try {
    io::open_source(run_dir);
    const auto files = io::list_files(run_dir);
    const bool forgotten = std::any_of(files.others.begin(), files.others.end(), [](const io::RunFile& file) { return file.state == io::FileState::unlisted; });
    if (!forgotten || fs::exists(manifest)) return;
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

/// Shards and scores of a checkpoint that are neither in a sound archive file nor whole.
std::vector<std::string> broken_files(const fs::path& run_dir, const Committed& checkpoint, const std::vector<io::ArchiveEntry>& sound) {
  std::vector<std::string> broken;
  for (const auto& [path, published] : checkpoint.files) {
    if (!is_packed(sound, path) && !io::verify_shard(run_dir, path, published).empty()) broken.push_back(path);
  }
  return broken;
}

/// A step counts whole or not at all, so the other shards of a broken one go too.
void take_out_broken_steps(Committed& checkpoint, const std::vector<std::string>& broken, std::vector<std::string>& lost) {
  const auto gone = [&](const stages::UnpackedFile& file) {
    return std::any_of(broken.begin(), broken.end(), [&](const std::string& path) {
      const auto name = io::ShardName::parse(path);
      return name && name->purpose == file.purpose && name->step == file.step;
    });
  };
  for (const auto& file : checkpoint.state.unpacked) {
    if (!gone(file)) continue;
    lost.push_back(file.files.shard.path), lost.push_back(file.files.scores.path);
  }
  std::erase_if(checkpoint.state.unpacked, gone);
  for (const std::string& path : lost) checkpoint.files.erase(path);
}

/// From the newest on: a checkpoint that cannot be gone on with is set aside, so that a resume finds the one before and draws again what was broken. Where
/// there is none, a run that has lost steps is more than none.
void judge_checkpoints(const fs::path& run_dir, Diagnosis& d) {
  const auto names = io::list_checkpoints(run_dir);
  std::vector<Move> moves;
  std::optional<std::pair<Committed, std::vector<std::string>>> holed;
  for (auto name = names.rbegin(); name != names.rend() && !d.resume; ++name) {
    try {
      Committed checkpoint = read_committed(run_dir, *name, Depth::whole);
      const auto broken = broken_files(run_dir, checkpoint, d.sound);
      if (!broken.empty()) moves.push_back({"checkpoints/" + *name, fmt::format("it goes on with {}, which is damaged or missing", broken.front())});
      if (broken.empty()) d.resume = std::move(checkpoint);
      else if (!holed) holed.emplace(std::move(checkpoint), broken);
    } catch (const StorageError& fault) {
      moves.push_back({"checkpoints/" + *name, fault.what()});
    }
  }
  if (!d.resume && holed) {
    d.resume = std::move(holed->first);
    take_out_broken_steps(*d.resume, holed->second, d.lost);
    std::erase_if(moves, [&](const Move& move) { return move.path == "checkpoints/" + d.resume->checkpoint; });
  }
  d.moves.insert(d.moves.end(), moves.begin(), moves.end());
}

/// Archive files that the manifest does not name. One that is whole, of steps done and nowhere else, is the copy that somebody has put back.
void judge_unlisted(const fs::path& run_dir, Diagnosis& d) {
  const auto others = io::list_files(run_dir).others;
  for (const auto& file : others) {
    if (file.state != io::FileState::unlisted) continue;
    const auto refuse = [&, known = d.left_out.find(file.path)](const std::string& why) { d.moves.push_back({file.path, known != d.left_out.end() ? known->second : why}); };
    try {
      const io::ArchiveEntry entry = io::describe(run_dir, file.path);
      const auto faults = io::verify_archive(run_dir, entry);
      const bool here = std::any_of(others.begin(), others.end(), [&](const io::RunFile& f) { return f.state == io::FileState::shard && is_packed({entry}, f.path); });
      const bool twice = std::any_of(d.sound.begin(), d.sound.end(), [&](const io::ArchiveEntry& e) {
        return io::overlap(e, io::purpose_from_text(entry.purpose), entry.first_step, entry.last_step);
      });
      if (!faults.empty()) refuse(faults.front().problem);
      else if (here) refuse("the manifest does not name it; its shards stayed");
      else if (twice) refuse("the manifest does not name it, and another file holds steps of it");
      else if (!d.resume || entry.last_step > std::uint64_t(d.resume->state.train_steps)) refuse("the manifest does not name it, and a resume draws its steps again");
      else d.readmitted.push_back(entry), d.sound.push_back(entry);
    } catch (const StorageError& fault) {
      refuse(fault.what());
    }
  }
}

void judge_shards(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& file : io::list_files(run_dir).others) {
    if (file.state == io::FileState::partial) d.moves.push_back({file.path, "it was never published"});
    if (file.state != io::FileState::shard) continue;
    if (d.resume && d.resume->files.contains(file.path) && !is_packed(d.sound, file.path)) continue;  // whole, or the checkpoint would not have been taken
    const auto faults = io::verify_shard(run_dir, file.path, std::nullopt);
    const bool lost = std::find(d.lost.begin(), d.lost.end(), file.path) != d.lost.end();
    d.moves.push_back({file.path, !faults.empty()                 ? faults.front().problem
                                  : is_packed(d.sound, file.path) ? "the archive holds its step"
                                  : lost                          ? "its step is not whole"
                                                                  : "no checkpoint has it behind it"});
  }
}

}  // namespace

Diagnosis diagnose(const fs::path& run_dir) {
  Diagnosis d;
  io::restore_replaced(run_dir);
  judge_manifest(run_dir, d);
  judge_archive(run_dir, d);
  judge_checkpoints(run_dir, d);
  judge_unlisted(run_dir, d);
  judge_shards(run_dir, d);
  return d;
}

}  // namespace rollcall::app::archive
