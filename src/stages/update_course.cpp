// The course of a step through its updates: what its rollouts say is taken once, and what the updates were like becomes the step's figures.
#include "stages/update.hpp"

#include "base/clock.hpp"

#include <numeric>
#include <utility>

namespace rollcall::stages {

const method::Prepared& Update::whole(const UpdatePlan& plan, const StepBatch& batch) {
  if (!course_.whole) {
    std::vector<std::size_t> groups(batch.groups.size());
    std::iota(groups.begin(), groups.end(), std::size_t{0});
    auto columns = make_train_batch(batch, groups, job_->config.train.leaf_tokens, job_->config.sampling.max_new_tokens).columns;
    course_.whole = objective_->prepare_step(with_step(std::move(columns), plan, batch, groups, course_.given));
  }
  return *course_.whole;
}

std::shared_ptr<const method::Prepared> Update::prepare_update(method::StepColumns columns, const UpdatePlan& plan, const StepBatch& batch,
                                                               const std::vector<std::size_t>& groups) {
  columns = with_step(std::move(columns), plan, batch, groups, course_.now);
  if (updates() == 1 && groups.size() == batch.groups.size()) return objective_->prepare(columns);
  std::vector<std::int64_t> first{0}, rollouts;  // of each group in the step, and those of these groups
  for (const Group& group : batch.groups) first.push_back(first.back() + std::int64_t(group.rollouts.size()));
  for (const std::size_t g : groups)
    for (std::int64_t i = first[g]; i < first[g + 1]; ++i) rollouts.push_back(i);
  return objective_->prepare_update(columns, whole(plan, batch), std::move(rollouts));
}

Update::StepTerms Update::terms_of(const method::Prepared& update) const {
  const auto statistics = update.statistics();
  return {update.lr_factor(), statistics, after_step(statistics)};
}

Update::Statistics Update::after_step(Statistics now) const {
  if (!course_.whole) return now;
  for (const auto& [name, value] : course_.whole->statistics()) {  // those that the step's rollouts have moved: the others are the updates'
    const auto given = course_.given.find(name);
    if (given == course_.given.end() || given->second != value) now[name] = value;
  }
  return now;
}

void Update::train(const UpdatePlan& plan, StepBatch& batch, UpdateReport& report) {
  course_ = {};
  course_.given = course_.now = course_.after = objective_state_.statistics;
  for (std::int64_t epoch = 0; epoch < job_->config.train.epochs && report.outcome == UpdateOutcome::applied; ++epoch) {
    for (std::int64_t i = 0; i < job_->config.train.mini_batches && report.outcome == UpdateOutcome::applied; ++i) {
      report.outcome = train_mini_batch(plan, batch, i, epoch == 0 && i == 0, report.metrics);
    }
  }
  if (report.outcome == UpdateOutcome::applied && course_.applied == 0 && !batch.groups.empty()) {  // nothing trains: its rollouts were seen all the same
    whole(plan, batch);
    course_.after = after_step(course_.now);
  }
  objective_state_.statistics = course_.after;
  const Stopwatch closing;
  const bool told_apart = leader() && course_.whole;
  const auto figures = course_.figures.take(told_apart ? course_.whole->merge({}) : StepFigures::Figures(), updates() > 1);
  for (const auto& [name, value] : figures) report.metrics[name] = value;
  if (told_apart && report.metrics.contains("timing_s/columns")) report.metrics["timing_s/columns"] += closing.seconds();
  report.updates = updates(), report.applied = course_.applied;
  if (updates() > 1) report.metrics["train/updates"] = double(course_.applied);
  const auto& norms = course_.norms;
  if (!norms.empty()) report.gradient_norm = std::accumulate(norms.begin(), norms.end(), 0.0) / double(norms.size());
  course_ = {};
}

}  // namespace rollcall::stages
