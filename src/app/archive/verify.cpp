// rollcall archive verify: checks every file against manifest and checkpoint, every column against
// its checksums, and every structure; with --replay also what environments said.
#include "io/verify.hpp"
#include "app/archive/committed.hpp"
#include "app/archive/output.hpp"
#include "app/archive/replay.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/error.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/kept_rollouts.hpp"
#include "io/run_files.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

struct Findings {
  std::vector<io::Fault> faults;
  std::uint64_t files = 0, bytes = 0;
};

void add(Findings& findings, std::vector<io::Fault> faults, std::uint64_t bytes) {
  ++findings.files;
  findings.bytes += bytes;
  findings.faults.insert(findings.faults.end(), faults.begin(), faults.end());
}

/// Whether the manifest lacks this archive file and no process holds the folder. A run publishes an
/// archive file a moment before it names it in the manifest, so while it holds the folder, a
/// missing name is no fault.
bool is_forgotten(const fs::path& run_dir, const std::string& path) {
  if (FolderLock::is_held(run_dir)) return false;
  const auto entries = io::read_manifest(run_dir);
  return fs::exists(run_dir / path) &&
         std::none_of(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.file.path == path; });
}

/// What is wrong with a checkpoint that cannot be read.
std::string unreadable_checkpoint(const fs::path& run_dir) {
  try {
    io::damaged_checkpoints(run_dir);
    return {};
  } catch (const UnreadableError& fault) {
    return fault.what();
  }
}

/// Whether a repair has removed something from the archive. The repair reported that, but
/// result.json cannot know it.
bool is_repaired(const fs::path& run_dir) {
  const auto folders = list_folder(run_dir / "set_aside");
  return std::any_of(folders.begin(), folders.end(), [](const auto& folder) {
    return fs::exists(folder.path() / "manifest.json");
  });
}

/// Compares the archive with result.json, if result.json is about the rollouts up to the newest
/// checkpoint.
std::optional<io::Fault> unlike_result(const fs::path& run_dir, const Committed* newest) {
  const std::string name = "result.json";
  if (!fs::exists(run_dir / name) || is_repaired(run_dir)) return std::nullopt;
  std::uint64_t total = 0, missing = 0;
  std::string sha;
  try {
    const auto result = nlohmann::json::parse(read_file(run_dir / name));
    result.at("rollouts_total").get_to(total), result.at("archive_sha256").get_to(sha);
    missing = result.value("rollouts_missing", std::uint64_t{0});
  } catch (const nlohmann::json::exception&) {
    return io::Fault{name, "it is not what a run writes at its end"};
  } catch (const InputError& fault) {
    return io::Fault{name, fault.what()};
  }
  // result.json is from an earlier end, and the run has continued since
  if (newest != nullptr && newest->state.rollouts_total != total) return std::nullopt;
  if (const auto kept = io::kept_rollouts(run_dir); kept != total - std::min(total, missing))
    return io::Fault{
        "archive",
        fmt::format("it holds {} rollouts where {} counts {}: files are missing or were added",
                    kept, name, total - std::min(total, missing))};
  if (io::archive_sha256(run_dir) != sha)
    return io::Fault{"archive",
                     fmt::format("its rollouts are not those of which {} has the hash", name)};
  return std::nullopt;
}

Findings verify_run(const fs::path& run_dir) {
  Findings findings;
  std::vector<std::string> damaged_checkpoints;
  std::map<std::string, io::PublishedFile> committed;
  const auto newest = newest_committed(run_dir, Depth::whole, damaged_checkpoints);
  if (newest) committed = newest->files;
  for (const auto& fault : damaged_checkpoints)
    findings.faults.push_back({"checkpoints", fault,
                               fault == unreadable_checkpoint(run_dir) ? io::Fault::Kind::unreadable
                                                                       : io::Fault::Kind::damage});
  const auto files = io::list_files(run_dir);
  for (const auto& entry : files.packed)
    add(findings, io::verify_archive(run_dir, entry), entry.file.bytes);
  for (const auto& file : files.others) {
    if (file.state == io::FileState::unlisted && is_forgotten(run_dir, file.path))
      add(findings, {{file.path, "the manifest does not name it: it is not part of the run"}},
          file.bytes);
    if (file.state != io::FileState::shard) continue;
    const auto known = committed.find(file.path);
    auto faults = io::verify_shard(
        run_dir, file.path, known == committed.end() ? std::nullopt : std::optional(known->second));
    // otherwise the run has packed it meanwhile
    if (fs::exists(run_dir / file.path)) add(findings, std::move(faults), file.bytes);
  }
  if (findings.faults.empty() && !FolderLock::is_held(run_dir))
    if (const auto fault = unlike_result(run_dir, newest ? &*newest : nullptr))
      findings.faults.push_back(*fault);
  for (const auto& [path, published] : committed) {
    if (!fs::exists(run_dir / path) && !is_packed(io::read_manifest(run_dir), path))
      findings.faults.push_back({path, "it is missing, and the newest checkpoint needs it"});
  }
  return findings;
}

Findings verify_file(const io::Source& source) {
  Findings findings;
  for (const auto& entry : source.packed)
    add(findings, io::verify_archive(source.root, entry), entry.file.bytes);
  for (const auto& shard : source.loose)
    for (const auto& path : io::files_of_shard(shard))
      add(findings, io::verify_shard(source.root, path, std::nullopt),
          fs::file_size(source.root / path));
  return findings;
}

/// Plays the conversations again. Returns whether they are what is stored.
bool replays(const fs::path& run_dir) {
  const auto found = replay(run_dir);
  const auto count = [](std::uint64_t n) {
    return fmt::format("{} conversation{}", n, n == 1 ? "" : "s");
  };
  Output out;
  if (found.different == 0) out.write(fmt::format("{} replayed: equal\n", count(found.equal)));
  else
    out.write(visible_format("{} replayed: {} went otherwise, the first of them is {}\n",
                             count(found.equal + found.different), found.different, found.first));
  if (found.lost > 0)
    out.write(
        fmt::format("{} not replayed, which their environment had lost\n", count(found.lost)));
  out.finish();
  return found.different == 0;
}

ExitCode verify(const fs::path& path, bool with_replay) {
  const auto source = io::open_source(path);
  require<ConfigError>(!with_replay || source.is_run,
                       fmt::format("--replay is given, and {} is one file", path.string()),
                       "the settings of the environment are in the run folder",
                       "name the run folder");
  const Findings findings = [&] {
    const LongPhase phase("reading the files of " + path.string());
    return source.is_run ? verify_run(path) : verify_file(source);
  }();
  Output out;
  for (const auto& fault : findings.faults)
    out.write(visible_format("{}: {}\n", fault.file, fault.problem));
  const auto count = findings.faults.size();
  const auto all_are = [&](io::Fault::Kind kind) {
    return std::all_of(findings.faults.begin(), findings.faults.end(),
                       [&](const io::Fault& fault) { return fault.kind == kind; });
  };
  const std::string remedy =
      all_are(io::Fault::Kind::unreadable) ? "check the disk, then verify again"
      : source.is_run ? "rollcall archive repair " + path.string() + " sets aside what is damaged"
                      : "restore it from a copy";
  out.write(visible_format(
      "{} files, {} bytes: {}\n", findings.files, findings.bytes,
      count == 0 ? "all checksums and structures are correct"
                 : fmt::format("{} problem{}; {}", count, count == 1 ? "" : "s", remedy)));
  out.finish();
  if (count == 0 && with_replay) return replays(path) ? ExitCode::done : ExitCode::failed;
  return count == 0                        ? ExitCode::done
         : all_are(io::Fault::Kind::newer) ? ExitCode::misconfigured
                                           : ExitCode::failed;
}

}  // namespace

void add_verify(Command command) {
  struct Flags {
    std::string path;
    bool replay = false;
  };
  auto flags = std::make_shared<Flags>();
  auto verb = command.command(
      "verify", "check every file, column and structure; exit code 3 when something is wrong");
  verb.option("run", flags->path, "RUN|FILE").required();
  verb.flag("--replay", flags->replay,
            "where all files are sound, also play the conversations of RUN again, with its "
            "environment: it must say, pay and flag what is stored");
  verb.runs([flags] { return verify(flags->path, flags->replay); });
}

}  // namespace rollcall::app::archive
