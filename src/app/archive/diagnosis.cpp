// Examines the manifest, the archive files that it names, the checkpoints from the newest on, and
// everything else.
#include "app/archive/diagnosis.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/verify.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// The seed in the run file, if it can be read.
std::optional<std::uint64_t> seed_of_run(const fs::path& run_dir) {
  try {
    return std::uint64_t(run::read_run_folder(run_dir).run.seed);
  } catch (const UnreadableError&) {
    throw;
  } catch (const Error&) {  // the next resume will report what is wrong with it
    return std::nullopt;
  }
}

/// Returns the faults, but throws for a file that a newer program has written or that cannot be
/// read. Such a file is not known to be damaged, so nothing may be moved.
const std::vector<io::Fault>& known(const fs::path& run_dir, const std::vector<io::Fault>& faults) {
  for (const auto& fault : faults) {
    const std::string words = fmt::format("{}: {}", (run_dir / fault.file).string(), fault.problem);
    if (fault.kind == io::Fault::Kind::newer) throw EnvironmentError(words);
    if (fault.kind == io::Fault::Kind::unreadable)
      throw UnreadableError(error_message(
          words, "it is not known whether the file is damaged",
          "check the disk, then repair again; if the error persists, move the file out of the run "
          "first"));
  }
  return faults;
}

/// Without a manifest nothing else can be examined, so a new one is written at once.
void judge_manifest(const fs::path& run_dir, Diagnosis& d) {
  const fs::path manifest = run_dir / "archive" / "manifest.json";
  if (fs::exists(manifest))
    read_file(manifest);  // throws if the disk fails, which a new manifest would not mend
  try {
    io::open_source(run_dir);
    const auto files = io::list_files(run_dir);
    const bool forgotten =
        std::any_of(files.others.begin(), files.others.end(),
                    [](const io::RunFile& file) { return file.state == io::FileState::unlisted; });
    if (!forgotten || fs::exists(manifest)) return;
  } catch (const StorageError&) {  // the old file is kept and shows what was wrong
  }
  d.rebuilt = io::new_set_aside(run_dir) + "/manifest.json";
  for (const auto& fault : io::rebuild_manifest(run_dir, seed_of_run(run_dir), d.rebuilt))
    d.left_out[fault.file] = fault.problem;
}

void judge_archive(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& entry : io::read_manifest(run_dir)) {
    const auto faults = known(run_dir, io::verify_archive(run_dir, entry));
    (faults.empty() ? d.sound : d.damaged).push_back(entry);
    if (!faults.empty() && fs::exists(run_dir / entry.file.path))
      d.moves.push_back({entry.file.path, faults.front().problem});
  }
}

/// Whether the archive file has another seed than the run file, or shares seed and data with none
/// of the undamaged archive files that the manifest names. (A run may go on with other data, so its
/// archive files may have two kinds of data.)
bool is_of_another_run(const fs::path& run_dir, const io::ArchiveEntry& entry, const Diagnosis& d) {
  const auto own = io::identity_of(run_dir, entry.file);
  if (seed_of_run(run_dir).value_or(own.seed) != own.seed) return true;
  const auto like = [&](const io::ArchiveEntry& other) {
    const auto its = io::identity_of(run_dir, other.file);
    return its.seed == own.seed && its.data_hash == own.data_hash;
  };
  return !d.sound.empty() && std::none_of(d.sound.begin(), d.sound.end(), like);
}

/// Why an archive file that the manifest does not name cannot be added to it; empty if it can.
std::string unfit(const fs::path& run_dir, const io::ArchiveEntry& entry, const Diagnosis& d) {
  if (const auto faults = known(run_dir, io::verify_archive(run_dir, entry)); !faults.empty())
    return faults.front().problem;
  const auto before = io::entries_before(run_dir, entry.file.path);
  const auto same = [&](const io::ArchiveEntry& e) {
    return e.file.bytes == entry.file.bytes && e.file.checksum == entry.file.checksum;
  };
  const bool returned = std::any_of(before.begin(), before.end(), same);
  if (!before.empty() && !returned)
    return "its bytes differ from those of the file that was withdrawn under this name";
  if (!returned && is_of_another_run(run_dir, entry, d)) return "it belongs to another run";
  for (const auto* named : {&d.sound, &d.readmitted})
    for (const auto& other : *named)
      if (io::overlap(other, io::purpose_from_text(entry.purpose), entry.first_step,
                      entry.last_step))
        return fmt::format("{} holds steps of it", other.file.path);
  return {};
}

/// An archive file that the manifest does not name was published just before a crash, or is a copy
/// that somebody has restored. If its steps are sampled again, they get the same content.
void judge_unlisted(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& file : io::list_files(run_dir).others) {
    if (file.state != io::FileState::unlisted) continue;
    std::string why;
    if (const auto known = d.left_out.find(file.path); known != d.left_out.end())
      why = known->second;
    try {
      const auto entry = io::describe(run_dir, file.path);
      if (why.empty()) why = unfit(run_dir, entry, d);
      if (why.empty()) d.readmitted.push_back(entry);
    } catch (const EnvironmentError&) {
      throw;
    } catch (const UnreadableError&) {
      throw;
    } catch (const Error& fault) {
      if (why.empty()) why = fault.what();
    }
    if (!why.empty()) d.moves.push_back({file.path, "the manifest does not name it, and " + why});
  }
}

bool is_whole_in_archive(const Diagnosis& d, const std::string& shard) {
  return is_packed(d.sound, shard) || is_packed(d.readmitted, shard);
}

/// Shards and scores of a checkpoint that are damaged and not in an undamaged archive file either.
std::vector<std::string> broken_files(const fs::path& run_dir, const Committed& checkpoint,
                                      const Diagnosis& d) {
  std::vector<std::string> broken;
  for (const auto& [path, published] : checkpoint.files) {
    if (!is_whole_in_archive(d, path) &&
        !known(run_dir, io::verify_shard(run_dir, path, published)).empty())
      broken.push_back(path);
  }
  return broken;
}

/// Removes all shards of a step with a broken one, including its greedy answers, because a step
/// only counts as a whole.
void take_out_broken_steps(Committed& checkpoint, const std::vector<std::string>& broken,
                           std::vector<std::string>& lost) {
  const auto unit = [](Purpose purpose, std::uint64_t step) {
    return std::pair(purpose == Purpose::greedy ? Purpose::train : purpose, step);
  };
  std::set<std::pair<Purpose, std::uint64_t>> units;
  for (const std::string& path : broken) {
    if (const auto name = io::ShardName::parse(path)) units.insert(unit(name->purpose, name->step));
  }
  std::erase_if(checkpoint.state.unpacked, [&](const run::UnpackedFile& file) {
    if (!units.contains(unit(file.purpose, file.step))) return false;
    lost.push_back(file.files.shard.path), lost.push_back(file.files.scores.path);
    return true;
  });
  for (const std::string& path : lost) checkpoint.files.erase(path);
}

/// Goes through the checkpoints, the newest first. A checkpoint that cannot be resumed is set
/// aside, so that a resume finds the one before it and samples the broken steps again. If no
/// checkpoint can be resumed with all its steps, one that has lost steps is better than none.
void judge_checkpoints(const fs::path& run_dir, Diagnosis& d) {
  const auto names = io::list_checkpoints(run_dir);
  std::vector<Move> moves;
  for (const auto& [name, fault] : io::damaged_checkpoints(run_dir))
    moves.push_back({"checkpoints/" + name, fault});
  std::optional<std::pair<Committed, std::vector<std::string>>> holed;
  for (auto name = names.rbegin(); name != names.rend() && !d.resume; ++name) {
    try {
      Committed checkpoint = read_committed(run_dir, *name, Depth::whole);
      const auto broken = broken_files(run_dir, checkpoint, d);
      if (!broken.empty())
        moves.push_back({"checkpoints/" + *name,
                         fmt::format("it needs {}, which is damaged or missing", broken.front())});
      if (broken.empty()) d.resume = std::move(checkpoint);
      else if (!holed) holed.emplace(std::move(checkpoint), broken);
    } catch (const EnvironmentError&) {
      throw;  // it has another program's version, which is not damage
    } catch (const UnreadableError&) {
      throw;
    } catch (const Error& fault) {
      moves.push_back({"checkpoints/" + *name, fault.what()});
    }
  }
  if (!d.resume && holed) {
    d.resume = std::move(holed->first);
    take_out_broken_steps(*d.resume, holed->second, d.lost);
    std::erase_if(moves, [&](const Move& move) {
      return move.path == "checkpoints/" + d.resume->checkpoint;
    });
  }
  for (const Move& move : moves) {
    d.moves.push_back(move);
    // An earlier version of the same checkpoint must not come back in its place.
    const std::string replaced = "checkpoints/.replaced-" + fs::path(move.path).filename().string();
    if (fs::exists(run_dir / replaced))
      d.moves.push_back({replaced, "a later checkpoint of that name was in its place"});
  }
}

void judge_shards(const fs::path& run_dir, Diagnosis& d) {
  for (const auto& file : io::list_files(run_dir).others) {
    if (file.state == io::FileState::partial)
      d.moves.push_back({file.path, "it was never published"});
    if (file.state != io::FileState::shard) continue;
    // The shard is undamaged, otherwise this checkpoint would not have been chosen.
    if (d.resume && d.resume->files.contains(file.path) && !is_whole_in_archive(d, file.path))
      continue;
    const auto faults = known(run_dir, io::verify_shard(run_dir, file.path, std::nullopt));
    const bool lost = std::find(d.lost.begin(), d.lost.end(), file.path) != d.lost.end();
    d.moves.push_back({file.path, !faults.empty()                     ? faults.front().problem
                                  : is_whole_in_archive(d, file.path) ? "the archive holds its step"
                                  : lost                              ? "its step is incomplete"
                                                                      : "no checkpoint covers it"});
  }
}

}  // namespace

Diagnosis diagnose(const fs::path& run_dir) {
  Diagnosis d;
  io::restore_replaced(run_dir);
  judge_manifest(run_dir, d);
  judge_archive(run_dir, d);
  judge_unlisted(run_dir, d);
  judge_checkpoints(run_dir, d);
  judge_shards(run_dir, d);
  return d;
}

}  // namespace rollcall::app::archive
