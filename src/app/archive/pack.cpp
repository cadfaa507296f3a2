// rollcall archive pack: moves the shards up to a checkpoint into archive files, in one process, as
// the run itself would.
#include "app/archive/committed.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/error.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "base/time/clock.hpp"
#include "io/redrawn.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

ExitCode pack(const fs::path& run_dir) {
  end_on_stop_signals(
      "each archive file is packed as a whole or not at all, and no rollout is lost; pack again, "
      "or resume the run");
  require(fs::is_directory(run_dir), fmt::format("{} is not a run folder", run_dir.string()),
          "the checkpoints say which shards are complete", "name the run folder");
  io::open_source(run_dir);
  const FolderLock lock(run_dir, "rollcall archive pack");
  io::restore_replaced(run_dir);
  io::damaged_checkpoints(run_dir);  // throws if a checkpoint cannot be read, because it could be
                                     // the newest one
  std::vector<std::string> faults;
  const auto newest = newest_committed(run_dir, Depth::whole, faults);
  require<StorageError>(newest || faults.empty(), faults.empty() ? "" : faults.front(),
                        "no checkpoint says which shards are complete",
                        "rollcall archive repair sets aside what is damaged");
  require(newest.has_value(), fmt::format("{} has no checkpoint", run_dir.string()),
          "steps that no checkpoint covers would be drawn again, and packed twice",
          "resume the run until its first checkpoint");
  Output out;
  for (const std::string& fault : faults)
    out.write(visible_format("skipped a checkpoint: {}\n", fault));
  if (const int left = io::end_interrupted_pack(run_dir))
    out.write(visible_format(
        "removed {} files that an interrupted pack had left: the archive holds them\n", left));
  auto files = newest->state.unpacked;
  std::vector<io::PackInput> shards;
  for (const auto& file : files) shards.push_back({file.files.shard, file.files.scores});
  if (const int again = io::give_way_to(shards, run_dir))
    out.write(
        visible_format("set aside {} archive files of evaluations that were made again\n", again));
  const auto entries = io::read_manifest(run_dir);
  std::erase_if(files,
                [&](const auto& file) { return io::any_holds(entries, file.purpose, file.step); });
  const auto requests = run::pack_requests(std::move(files), entries);
  for (const auto& request : requests) {
    const Stopwatch clock;
    const LongPhase phase(
        fmt::format("packing {} shards into {}", request.files.size(), request.name));
    std::vector<io::PackInput> inputs;
    for (const auto& file : request.files) inputs.push_back({file.shard, file.scores});
    const auto entry = io::pack(*comm::alone(), run_dir, request.name, inputs,
                                io::identity_of(run_dir, inputs.back().shard));
    out.write(visible_format(
        "packed {} files into {}: {} groups, {} rollouts, {} bytes in {:.2f} s\n", inputs.size(),
        entry.file.path, entry.groups, entry.rollouts, entry.file.bytes, clock.seconds()));
  }
  if (requests.empty())
    out.write(visible_format(
        "nothing to pack: checkpoint {} covers no shards that are not in the archive\n",
        newest->checkpoint));
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_pack(Command command) {
  auto path = std::make_shared<std::string>();
  auto verb = command.command(
      "pack",
      "pack the shards that a checkpoint covers, and remove them once the archive file is "
      "verified");
  verb.option("run", *path, "run folder; its job must have ended").required();
  verb.runs([path] { return pack(*path); });
}

}  // namespace rollcall::app::archive
