// Reads steps in the order in which they are trained on.
#include "run/update/step_data.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "run/context/column_sources.hpp"
#include "run/context/run_context.hpp"
#include "run/step/group_training.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/step/placed_groups.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/undecided.hpp"
#include "run/update/experts.hpp"
#include "run/update/of_leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rollcall::run {

namespace {

/// Removes the files of a step without a decided verdict. A resume would reuse these verdicts and
/// fail in the same way.
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

/// Whether the environment lost a conversation of the step.
bool has_lost(const StepBatch& step) {
  const auto is_lost = [](const Rollout& r) { return r.finish == FinishReason::lost; };
  return std::any_of(step.groups.begin(), step.groups.end(), [&](const Group& group) {
    return std::any_of(group.rollouts.begin(), group.rollouts.end(), is_lost);
  });
}

/// The step as it trains: undecided rollouts leave it or count as wrong (undecided.hpp), and
/// rewards are permuted if the run file asks for it. Throws Error if nothing was decided.
StepBatch apply_undecided_rule(const RunContext& context, StepBatch step, std::uint64_t number) {
  const bool had_any = !step.groups.empty(), is_lost = has_lost(step);
  const bool drop = context.config.reward.undecided == "drop";
  const std::size_t decided = close_step(step, context.config, number);
  if (!had_any || (!step.groups.empty() && (decided > 0 || !drop))) return step;
  const std::string run = context.run_dir.string();
  throw Error(
      ExitCode::failed,
      error_message(
          fmt::format("no rollout of step {} came to a verdict", number),
          "there is nothing to learn from",
          fmt::format(
              "look at the log and at {}/{} for what the {} met, then continue with --resume, "
              "which judges this step again (verdicts of it that an earlier stop left in "
              "{}/set_aside are repeated: remove that folder)",
              run, is_lost ? "environment" : "verifier", is_lost ? "environment" : "verifier",
              run)));
}

}  // namespace

StepData::StepData(RunContext& context, const method::Objective& objective,
                   const PromptColumns& columns, comm::Communicator& ranks, ShardCache& cache)
    : context_(&context),
      objective_(&objective),
      columns_(&columns),
      ranks_(&ranks),
      cache_(&cache),
      residency_(step_at(context.config, objective)),
      drift_(reads_tracked_success(context.config, objective)),
      replay_(context.config.replay, std::uint64_t(context.config.run.seed)) {}

void StepData::remember(StepBatch own) {
  drift_.remember(own);
  if (replay_.on()) replay_.remember(std::move(own));
}

void StepData::refill_replay(const UpdatePlan& plan) {
  if (!unread_) return;
  const auto unpacked = *std::exchange(unread_, std::nullopt);
  if (!samples()) {
    const std::uint64_t first =
        drift_.on() ? plan.step - std::min(plan.step - 1, Drift::kWindow) : plan.step;
    for (std::uint64_t step = first; step < plan.step; ++step)
      drift_.remember(placed(apply_undecided_rule(*context_, archived_step(step), step)));
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
    StepBatch step = placed(apply_undecided_rule(*context_, std::move(batch), number));
    drift_.remember(step);
    if (replay_.on()) replay_.remember(std::move(step));
  }
  if (unrecorded > 0 && replay_.on() && ranks_->rank() == 0)
    log_warning(
        "{} earlier steps do not say which of their rollouts trained (an earlier build wrote them): all of their groups may be replayed",
        unrecorded);
}

bool StepData::hears_recipe() const { return run::hears_recipe(context_->config, *objective_); }

StepBatch StepData::placed(StepBatch step) const {
  place_derived(step, trained_on(context_->config));
  return step;
}

bool StepData::samples() const { return context_->config.train.from_archive.empty(); }

StepBatch StepData::archived_step(std::uint64_t step) {
  const bool leads = ranks_->rank() == 0;
  if (leads && !archived_)
    archived_.emplace(context_->config, context_->texts,
                      context_->models.policy.max_position_embeddings, /*tells=*/true);
  return from_wire(
      comm::spread(*ranks_, leads ? to_wire(archived_->read(step)) : std::string(), 0));
}

StepBatch StepData::load_step(const UpdatePlan& plan) {
  return samples() ? read_step(context_->run_dir, plan.files, *ranks_, residency_, cache_)
                   : archived_step(plan.step);
}

std::vector<std::vector<double>> StepData::recipe_rewards(const StepBatch& batch,
                                                          const UpdatePlan& plan) const {
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto columns = make_train_batch(batch, all, std::numeric_limits<std::int64_t>::max(),
                                  context_->config.sampling.max_new_tokens)
                     .columns;
  return rewards_by_group(*objective_, columns_->complete(std::move(columns), plan, batch, all, {}),
                          batch);
}

StepBatch StepData::gather(const UpdatePlan& plan) {
  StepBatch step = load_step(plan);
  const bool sampling = samples();
  record_.reset();
  if (ranks_->rank() == 0 && sampling) record_.emplace(plan.step, step);
  StepBatch batch = [&] {
    try {
      return apply_undecided_rule(*context_, std::move(step), plan.step);
    } catch (const Error&) {
      for (const auto* files : {&plan.files, &plan.others})
        if (sampling && ranks_->rank() == 0) forget_verdicts(context_->run_dir, *files);
      throw;
    }
  }();
  if (sampling) {  // steps read from an archive have StepBatch::training already
    const bool alone = residency_ == StepResidency::leader;
    decide(batch, alone ? plan.training : of_leader(*ranks_, plan.training));
  }
  if (ranks_->rank() == 0) as_sampled_ = rollout_metrics(batch);
  place_derived(batch, trained_on(context_->config));
  batch.policy = context_->store->version();
  if (replay_.on() || drift_.on()) refill_replay(plan);
  if (replay_.on()) {
    replay_.forget(batch.policy);
    replay_.forget_before(first_replayed(context_->config, plan.step));
    ReplayBuffer::RewardsOf rewards;
    if (hears_recipe())
      rewards = [&](const StepBatch& groups) { return recipe_rewards(groups, plan); };
    replay_.add_to(batch, plan.step, rewards);
  }
  add_experts(batch, context_->config, context_->texts, *context_->grading.grader, plan.step);
  return batch;
}

}  // namespace rollcall::run
