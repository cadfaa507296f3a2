// What a step trains on: its own rollouts or an archive's, those of earlier steps, and experts'.
#include "stages/update.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "stages/experts.hpp"
#include "stages/heard_rewards.hpp"
#include "stages/step_wire.hpp"
#include "stages/undecided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rollcall::stages {

namespace {

/// A resume repeats the verdicts that it finds, and would end where this start does.
void forget_verdicts(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files) {
  for (const ScoredFile& file : files)
    for (const auto* part : {&file.shard, &file.scores}) {
      std::error_code failure;
      std::filesystem::remove(run_dir / part->path, failure);
      if (failure) log_warning("cannot remove {}: {}: a resume repeats its verdicts", (run_dir / part->path).string(), failure.message());
    }
}

}  // namespace

StepBatch Update::closed(StepBatch step, std::uint64_t number) const {
  const bool had_any = !step.groups.empty();
  const bool drop = job_->config.reward.undecided == "drop";
  const std::size_t decided = close_step(step, job_->config, number);
  if (!had_any || (!step.groups.empty() && (decided > 0 || !drop))) return step;
  const std::string run = job_->run_dir.string();
  throw Error(ExitCode::failed, error_message(fmt::format("no rollout of step {} came to a verdict", number), "there is nothing to learn from",
                                              fmt::format("look at the log and at {}/verifier for what the verifier met, then continue with --resume, which judges "
                                                          "this step anew (verdicts of it that an earlier stop left in {}/set_aside are repeated: remove that folder)",
                                                          run, run)));
}

void Update::recall(const UpdatePlan& plan) {
  if (!earlier_) return;
  const auto unpacked = *std::exchange(earlier_, std::nullopt);
  if (!job_->config.train.from_archive.empty()) {
    const std::uint64_t first = drift_.on() ? plan.step - std::min(plan.step - 1, Drift::kWindow) : plan.step;
    for (std::uint64_t step = first; step < plan.step; ++step) drift_.remember(closed(archived_step(step), step));
    return;
  }
  const std::uint64_t now = job_->store->version().value;
  const std::uint64_t limit = std::max(replay_.on() ? std::uint64_t(job_->config.replay.max_staleness) : 0, drift_.on() ? Drift::kWindow : 0);
  int unrecorded = 0;
  for (auto& batch : read_earlier_steps(job_->run_dir, unpacked, plan.step, now - std::min(now, limit), *ranks_)) {
    const std::uint64_t number = batch.groups.empty() ? 0 : batch.groups.front().id.step;
    unrecorded += batch.training.empty() ? 1 : 0;
    StepBatch step = closed(std::move(batch), number);
    drift_.remember(step);
    if (replay_.on()) replay_.remember(std::move(step));
  }
  if (unrecorded > 0 && replay_.on() && leader())
    log_warning("{} earlier steps do not say which of their rollouts trained (an earlier build wrote them): all of their groups may be replayed", unrecorded);
}

StepBatch Update::archived_step(std::uint64_t step) {
  if (leader() && !archived_) archived_.emplace(*job_, /*tells=*/true);
  return from_wire(ranks_->gather_all(leader() ? to_wire(archived_->read(step)) : std::string())[0]);
}

StepBatch Update::sampled(const UpdatePlan& plan) {
  return job_->config.train.from_archive.empty() ? read_step(job_->run_dir, plan.files, *ranks_, step_at_, kept_) : archived_step(plan.step);
}

std::vector<std::vector<double>> Update::heard(const StepBatch& batch, const UpdatePlan& plan) const {
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto columns = make_train_batch(batch, all, std::numeric_limits<std::int64_t>::max(), job_->config.sampling.max_new_tokens).columns;
  return rewards_by_group(*objective_, with_step(std::move(columns), plan, batch, all, {}), batch);
}

StepBatch Update::gather(const UpdatePlan& plan) {
  StepBatch step = sampled(plan);
  const bool sampling = job_->config.train.from_archive.empty();
  record_.reset();
  if (leader() && sampling) record_.emplace(plan.step, step);
  StepBatch batch = [&] {
    try {
      return closed(std::move(step), plan.step);
    } catch (const Error&) {
      if (sampling && leader()) forget_verdicts(job_->run_dir, plan.files);
      throw;
    }
  }();
  if (sampling) decide(batch, plan.training);  // an archive says it of its own steps
  batch.policy = job_->store->version();
  if (replay_.on() || drift_.on()) recall(plan);
  if (replay_.on()) {
    replay_.forget(batch.policy);
    replay_.forget_before(first_replayed(job_->config, plan.step));
    ReplayBuffer::RewardsOf rewards;
    if (hears_recipe_) rewards = [&](const StepBatch& groups) { return heard(groups, plan); };
    replay_.add_to(batch, plan.step, rewards);
  }
  add_experts(batch, *job_, plan.step);
  return batch;
}

}  // namespace rollcall::stages
