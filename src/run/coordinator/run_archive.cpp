// Packs shards into archive files by way of the scoring ranks, and sets replaced files aside.
#include "run/coordinator/run_archive.hpp"

#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/time/clock.hpp"
#include "io/archive.hpp"
#include "io/redrawn.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/kept_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace rollcall::run {
namespace {

std::uint64_t rollouts_of(const io::RolloutsOfSteps& steps) {
  std::uint64_t rollouts = 0;
  for (const auto& [step, count] : steps) rollouts += count;
  return rollouts;
}

}  // namespace

void RunArchive::resume() {
  replace_archived();
  find_uncounted();
  missing_ = rollouts_missing(context_->run_dir, *state_, rollouts_of(uncounted_));
}

/// An archive file may hold steps that follow the checkpoint, because a newer checkpoint, which is
/// damaged or gone, covered them. An evaluation at the checkpoint's own step may be from before or
/// from after it, which the total shows. An earlier build dropped the outcomes of an evaluation
/// when more steps were asked for, even if it then stopped before the first of them.
void RunArchive::find_uncounted() {
  const auto done = std::uint64_t(state_->train_steps);
  const auto packed = io::packed_rollouts(context_->run_dir, done);
  uncounted_ = packed;
  std::erase_if(uncounted_, [&](const auto& of_step) { return of_step.first.second <= done; });
  const auto same = packed.find({Purpose::eval, done});
  const bool has_result = (state_->after || (done == 0 && state_->before));
  if (has_result || same == packed.end()) return;
  const std::uint64_t kept = io::kept_rollouts(context_->run_dir) - rollouts_of(uncounted_);
  if (kept > state_->rollouts_total) uncounted_.insert(*same);
  else if (kept == state_->rollouts_total) counted_.emplace(*same);
}

std::uint64_t RunArchive::counted_before() const {
  const bool is_here = counted_ && counted_->first.second == std::uint64_t(state_->train_steps);
  return is_here ? counted_->second : 0;
}

void RunArchive::drew(Purpose purpose) {
  uncounted_.erase({purpose, std::uint64_t(state_->train_steps)});
  if (purpose == Purpose::eval) counted_.reset();
}

void RunArchive::count_passed() {
  std::erase_if(uncounted_, [&](const auto& of_step) {
    const auto& [purpose, step] = of_step.first;
    if (step > std::uint64_t(state_->train_steps)) return false;
    if (purpose != Purpose::train) state_->rollouts_total += of_step.second;
    return true;
  });
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

/// Drops from the state the files that the archive holds already. A stop between packing and the
/// next checkpoint, or a fall back to an older checkpoint, leaves such files in the state. A step
/// that is drawn again has the same content, so the archive keeps its copy and the new one is set
/// aside.
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
  if (missing_ > 0) missing_ = std::min(missing_, rollouts_missing(context_->run_dir, *state_, 0));
  require_kept_rollouts(context_->run_dir, *state_, missing_);
  return missing_;
}

}  // namespace rollcall::run
