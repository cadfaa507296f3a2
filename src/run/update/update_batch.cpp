// What a step trains on: its own rollouts or an archive's, those of earlier steps, and experts'.
#include "run/update/update.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/undecided.hpp"
#include "run/update/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rollcall::run {

namespace {

/// A resume repeats the verdicts that it finds, and would end where this start does.
void forget_verdicts(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files) {
  for (const ScoredFile& file : files)
    for (const auto* part : {&file.shard, &file.scores}) {
      std::error_code failure;
      std::filesystem::remove(run_dir / part->path, failure);
      if (failure)
        log_warning("cannot remove {}: {}: a resume repeats its verdicts",
                    (run_dir / part->path).string(), failure.message());
    }
}

}  // namespace

StepBatch UpdateStage::apply_undecided_rule(StepBatch step, std::uint64_t number) const {
  const bool had_any = !step.groups.empty();
  const bool drop = context_->config.reward.undecided == "drop";
  const std::size_t decided = close_step(step, context_->config, number);
  if (!had_any || (!step.groups.empty() && (decided > 0 || !drop))) return step;
  const std::string run = context_->run_dir.string();
  throw Error(
      ExitCode::failed,
      error_message(
          fmt::format("no rollout of step {} came to a verdict", number),
          "there is nothing to learn from",
          fmt::format(
              "look at the log and at {}/verifier for what the verifier met, then continue with --resume, which judges "
              "this step anew (verdicts of it that an earlier stop left in {}/set_aside are repeated: remove that folder)",
              run, run)));
}

void UpdateStage::refill_replay(const UpdatePlan& plan) {
  if (!earlier_) return;
  const auto unpacked = *std::exchange(earlier_, std::nullopt);
  if (!context_->config.train.from_archive.empty()) {
    const std::uint64_t first =
        drift_.on() ? plan.step - std::min(plan.step - 1, Drift::kWindow) : plan.step;
    for (std::uint64_t step = first; step < plan.step; ++step)
      drift_.remember(apply_undecided_rule(archived_step(step), step));
    return;
  }
  const std::uint64_t now = context_->store->version().value;
  const std::uint64_t limit =
      std::max(replay_.on() ? std::uint64_t(context_->config.replay.max_staleness) : 0,
               drift_.on() ? Drift::kWindow : 0);
  int unrecorded = 0;
  for (auto& batch : read_earlier_steps(context_->run_dir, unpacked, plan.step,
                                        now - std::min(now, limit), *ranks_)) {
    const std::uint64_t number = batch.groups.empty() ? 0 : batch.groups.front().id.step;
    unrecorded += batch.training.empty() ? 1 : 0;
    StepBatch step = apply_undecided_rule(std::move(batch), number);
    drift_.remember(step);
    if (replay_.on()) replay_.remember(std::move(step));
  }
  if (unrecorded > 0 && replay_.on() && leader())
    log_warning(
        "{} earlier steps do not say which of their rollouts trained (an earlier build wrote them): all of their groups may be replayed",
        unrecorded);
}

StepBatch UpdateStage::archived_step(std::uint64_t step) {
  if (leader() && !archived_) archived_.emplace(*context_, /*tells=*/true);
  return from_wire(
      comm::spread(*ranks_, leader() ? to_wire(archived_->read(step)) : std::string(), 0));
}

StepBatch UpdateStage::load_step(const UpdatePlan& plan) {
  return context_->config.train.from_archive.empty()
             ? read_step(context_->run_dir, plan.files, *ranks_, step_at_, kept_)
             : archived_step(plan.step);
}

std::vector<std::vector<double>> UpdateStage::heard(const StepBatch& batch,
                                                    const UpdatePlan& plan) const {
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto columns = make_train_batch(batch, all, std::numeric_limits<std::int64_t>::max(),
                                  context_->config.sampling.max_new_tokens)
                     .columns;
  return rewards_by_group(*objective_, with_step(std::move(columns), plan, batch, all, {}), batch);
}

StepBatch UpdateStage::gather(const UpdatePlan& plan) {
  StepBatch step = load_step(plan);
  const bool sampling = context_->config.train.from_archive.empty();
  record_.reset();
  if (leader() && sampling) record_.emplace(plan.step, step);
  StepBatch batch = [&] {
    try {
      return apply_undecided_rule(std::move(step), plan.step);
    } catch (const Error&) {
      for (const auto* files : {&plan.files, &plan.others})
        if (sampling && leader()) forget_verdicts(context_->run_dir, *files);
      throw;
    }
  }();
  if (sampling) {  // an archive says it of its own steps
    const bool alone = step_at_ == StepResidency::leader;
    decide(batch, alone ? plan.training : of_leader(plan.training));
  }
  batch.policy = context_->store->version();
  if (replay_.on() || drift_.on()) refill_replay(plan);
  if (replay_.on()) {
    replay_.forget(batch.policy);
    replay_.forget_before(first_replayed(context_->config, plan.step));
    ReplayBuffer::RewardsOf rewards;
    if (hears_recipe_) rewards = [&](const StepBatch& groups) { return heard(groups, plan); };
    replay_.add_to(batch, plan.step, rewards);
  }
  add_experts(batch, *context_, plan.step);
  return batch;
}

}  // namespace rollcall::run
