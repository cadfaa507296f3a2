// The course of a step through its updates: what its rollouts say is taken once, and what the
// updates were like becomes the step's figures.
#include "run/update/update.hpp"

#include "base/clock.hpp"

#include <numeric>
#include <utility>

namespace rollcall::run {
namespace {

std::vector<std::size_t> all_groups(const StepBatch& batch) {
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// Of Prepared::merge, what rollouts show before any policy is compared.
bool is_of_rollouts(const std::string& name) {
  return name.starts_with("critic/score/") || name.starts_with("critic/rewards/") ||
         name.starts_with("critic/component/") || name.starts_with("critic/shaping/");
}

}  // namespace

const method::Prepared& UpdateStage::whole(const UpdatePlan& plan, const StepBatch& batch) {
  if (!course_.whole) {
    const auto training = mini_batch(batch, 0, 1);
    auto columns = make_train_batch(batch, training, context_->config.train.micro_batch_tokens,
                                    context_->config.sampling.max_new_tokens)
                       .columns;
    course_.whole = objective_->prepare_step(
        with_step(std::move(columns), plan, batch, training, course_.given));
  }
  return *course_.whole;
}

std::shared_ptr<const method::Prepared> UpdateStage::prepare_update(
    method::StepColumns columns, const UpdatePlan& plan, const StepBatch& batch,
    const std::vector<std::size_t>& groups) {
  columns = with_step(std::move(columns), plan, batch, groups, course_.now);
  const auto training = mini_batch(batch, 0, 1);
  // the latter is no update: it holds groups that do not train
  if (updates() == 1 || groups.size() > training.size()) return objective_->prepare(columns);
  std::vector<std::int64_t> rollouts;  // of these groups among all that train
  std::int64_t first = 0;
  auto wanted = groups.begin();
  for (const std::size_t g : training) {
    const auto count = std::int64_t(batch.groups[g].rollouts.size());
    if (wanted != groups.end() && *wanted == g) {
      for (std::int64_t i = first; i < first + count; ++i) rollouts.push_back(i);
      ++wanted;
    }
    first += count;
  }
  return objective_->prepare_update(columns, whole(plan, batch), std::move(rollouts));
}

UpdateStage::StepTerms UpdateStage::terms_of(const method::Prepared& update) const {
  const auto statistics = update.statistics();
  return {update.lr_factor(), statistics, after_step(statistics)};
}

UpdateStage::Statistics UpdateStage::after_step(Statistics now) const {
  if (!course_.whole) return now;
  // those that the step's rollouts have moved: the others are the updates'
  for (const auto& [name, value] : course_.whole->statistics()) {
    const auto given = course_.given.find(name);
    if (given == course_.given.end() || given->second != value) now[name] = value;
  }
  return now;
}

UpdateStage::Opened UpdateStage::open_step(const UpdatePlan& plan, const StepBatch& batch) {
  const Stopwatch columns;
  const bool stored = is_on_policy(batch), single = context_->config.train.mini_batches == 1;
  const auto all = all_groups(batch), training = mini_batch(batch, 0, 1);
  MiniBatch step = prepare(plan, batch, all, stored);
  const bool known = step.known;
  auto advantage = shared_advantages(batch, all, step.prepared->token_advantages());
  Opened opened;
  if (training.size() < all.size()) {
    signals_.add_left_out(batch, step.prepared->rollout_advantages(),
                          known ? evaluate(step)->losses : std::vector<method::MicroBatchLoss>());
    if (!training.empty()) {  // without the others: they count in no statistic but their own
      opened.ready = prepare(plan, batch, training, stored);
      put_advantages(batch, training,
                     shared_advantages(batch, training, opened.ready->prepared->token_advantages()),
                     advantage);
    }
  }
  if (record_)
    kept_->writer().add(io::draft_training(record_->of(batch, advantage), context_->identity));
  if (training.size() < all.size()) {
    for (const auto& [name, value] : step.prepared->merge({}))
      if (is_of_rollouts(name)) opened.figures[name] = value;
  } else {
    opened.ready = std::move(step);
  }
  if (!single) opened.ready.reset();
  if (known) opened.columns_s = columns.seconds();
  return opened;
}

void UpdateStage::train(const UpdatePlan& plan, StepBatch& batch, UpdateReport& report) {
  course_ = {};
  course_.given = course_.now = course_.after = objective_state_.statistics;
  if (leader() || step_at_ == StepResidency::every_rank)
    auxiliary_models_.add_current_columns(batch, all_groups(batch), is_on_policy(batch));
  Opened opened = leader() ? open_step(plan, batch) : Opened{};
  for (std::int64_t epoch = 0;
       epoch < context_->config.train.epochs && report.outcome == UpdateOutcome::applied; ++epoch) {
    for (std::int64_t i = 0;
         i < context_->config.train.mini_batches && report.outcome == UpdateOutcome::applied; ++i) {
      report.outcome = train_mini_batch(
          plan, batch, {i, epoch == 0 && i == 0, std::exchange(opened.ready, std::nullopt)},
          report.metrics);
    }
  }
  objective_state_.statistics = course_.after;
  const Stopwatch closing;
  const bool told_apart = leader() && course_.whole;
  auto rollouts = told_apart ? course_.whole->merge({}) : StepFigures::Figures();
  for (const auto& [name, value] : opened.figures) rollouts[name] = value;
  const auto figures = course_.figures.take(rollouts, updates() > 1);
  for (const auto& [name, value] : figures) report.metrics[name] = value;
  if (opened.columns_s > 0.0) report.metrics["timing_s/columns"] += opened.columns_s;
  if (told_apart && report.metrics.contains("timing_s/columns"))
    report.metrics["timing_s/columns"] += closing.seconds();
  report.updates = updates(), report.applied = course_.applied;
  if (updates() > 1) report.metrics["train/updates"] = double(course_.applied);
  const auto& norms = course_.norms;
  if (!norms.empty())
    report.gradient_norm = std::accumulate(norms.begin(), norms.end(), 0.0) / double(norms.size());
  course_ = {};
}

}  // namespace rollcall::run
