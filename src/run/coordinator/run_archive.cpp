// Packs shards into archive files by way of the scoring ranks, and sets aside what is replaced.
#include "run/coordinator/run_archive.hpp"

#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/time/clock.hpp"
#include "io/archive.hpp"
#include "io/redrawn.hpp"
#include "run/coordinator/kept_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace rollcall::run {

void RunArchive::resume() {
  replace_archived();
  missing_ = rollouts_missing(context_->run_dir, *state_);
}

void RunArchive::cover(std::vector<UnpackedFile> files, std::int64_t steps) {
  covered_ = std::move(files);
  covered_steps_ = steps;
}

void RunArchive::pack_when_due() {
  if (covered_steps_ - state_->packed_steps < context_->config.archive.pack_every) return;
  pack(std::move(covered_));
  covered_.clear();
}

void RunArchive::replace_archived() {
  std::vector<io::PackInput> shards;
  for (const auto& file : state_->unpacked) shards.push_back({file.files.shard, file.files.scores});
  if (const int files = io::give_way_to(shards, context_->run_dir); files > 0)
    log_info("set aside {} archive files of evaluations that were made again", files);
}

/// Drops files from the state that the archive holds already. A stop between packing and the next
/// checkpoint, or a fall back to an older checkpoint, leaves them there. A step that is drawn again
/// has the same content, so the archive keeps its copy and the other one is set aside.
void RunArchive::forget_archived() {
  replace_archived();
  const auto entries = io::read_manifest(context_->run_dir);
  if (std::erase_if(state_->unpacked, [&](const UnpackedFile& file) {
        return io::any_holds(entries, file.purpose, file.step);
      }) > 0) {
    std::vector<io::PublishedFile> keep;
    for (const auto& file : state_->unpacked) {
      keep.push_back(file.files.shard);
      keep.push_back(file.files.scores);
    }
    if (const int moved = io::set_aside_unfinished(context_->run_dir, keep))
      log_info("set aside {} files of steps that the archive holds", moved);
  }
}

void RunArchive::pack(std::vector<UnpackedFile> files) {
  const Stopwatch clock;
  forget_archived();
  std::set<std::string> waiting;
  for (const UnpackedFile& file : state_->unpacked) waiting.insert(file.files.shard.path);
  std::erase_if(files,
                [&](const UnpackedFile& file) { return !waiting.contains(file.files.shard.path); });
  for (const PackRequest& request :
       pack_requests(std::move(files), io::read_manifest(context_->run_dir))) {
    std::optional<LongPhase> phase;
    if (!records_->has_bar())  // no bar shows that the run is at work
      phase.emplace(fmt::format("packing {} shards into archive file {}", request.files.size(),
                                request.name));
    mail_->send_led(context_->layout.of(comm::Stage::scoring), Tag::pack, request,
                    [](PackRequest& r) { r.files.clear(); });
    inbox_->await<PackReport>(Tag::packed, "the archive file " + request.name);
    io::await_packed(context_->run_dir, request.name);
    std::set<std::string> packed;
    for (const ScoredFile& file : request.files) packed.insert(file.shard.path);
    std::erase_if(state_->unpacked,
                  [&](const UnpackedFile& file) { return packed.contains(file.files.shard.path); });
  }
  state_->packed_steps = std::max(state_->packed_steps, covered_steps_);
  waited_s_ += clock.seconds();
}

std::uint64_t RunArchive::require_rollouts() {
  // An evaluation that was gone at the start may have been made again since then.
  if (missing_ > 0) missing_ = std::min(missing_, rollouts_missing(context_->run_dir, *state_));
  require_kept_rollouts(context_->run_dir, *state_, missing_);
  return missing_;
}

}  // namespace rollcall::run
