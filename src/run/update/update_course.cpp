// Carries out the updates of a training step, mini-batch by mini-batch. The figures of the updates
// and of the rollouts become the figures of the step.
#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "run/context/run_context.hpp"
#include "run/update/temperature.hpp"
#include "run/update/update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace rollcall::run {
namespace {

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

std::vector<std::size_t> all_groups(const StepBatch& batch) {
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// Whether a figure of Prepared::merge() depends only on rollouts and not on a policy.
bool is_of_rollouts(const std::string& name) {
  return name.starts_with("critic/score/") || name.starts_with("critic/rewards/") ||
         name.starts_with("critic/component/") || name.starts_with("critic/shaping/");
}

}  // namespace

bool UpdateStage::is_on_policy(const StepBatch& batch) const {
  return batch.replayed == 0 && context_->config.train.from_archive.empty();
}

UpdateStage::Opened UpdateStage::open_step(const UpdatePlan& plan, const StepBatch& batch) {
  const Stopwatch columns;
  const bool stored = is_on_policy(batch), single = context_->config.train.mini_batches == 1;
  const auto all = all_groups(batch), training = mini_batch(batch, 0, 1);
  ObjectivePass::MiniBatch step = pass_.prepare(plan, batch, all, stored);
  const bool known = step.known;
  auto advantage = shared_advantages(batch, all, step.prepared->token_advantages());
  Opened opened;
  if (training.size() < all.size()) {
    signals_.add_left_out(
        batch, step.prepared->rollout_advantages(),
        known ? pass_.evaluate(step)->losses : std::vector<method::MicroBatchLoss>());
    if (!training.empty()) {  // groups that are left out must not count in the statistics of groups
                              // that train
      opened.ready = pass_.prepare(plan, batch, training, stored);
      put_advantages(batch, training,
                     shared_advantages(batch, training, opened.ready->prepared->token_advantages()),
                     advantage);
    }
  }
  if (const StepRecord* record = data_.record())
    kept_->writer().add(io::draft_training(record->of(batch, advantage), context_->identity));
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

UpdateOutcome UpdateStage::train_mini_batch(const UpdatePlan& plan, StepBatch& batch, Turn turn,
                                            Course& course,
                                            std::map<std::string, double>& metrics) {
  const auto& settings = context_->config.train;
  const auto groups = mini_batch(batch, turn.index, settings.mini_batches);
  // If only the leader has the rollouts, the others get their micro-batches from it.
  const bool here = leader() || data_.residency() == StepResidency::every_rank;
  expect(!here || !batch.groups.empty(), "a step has rollouts");
  const bool idle = here && groups.empty();
  if (idle && data_.residency() == StepResidency::every_rank) return UpdateOutcome::applied;
  const bool first = turn.first, stored = first && is_on_policy(batch);
  if (!first) models_.add_current_columns(batch, groups, false);
  Stopwatch columns;
  const double waited_s = ranks_->waited_s();
  const ObjectivePass::MiniBatch mini = idle         ? ObjectivePass::MiniBatch{}
                                        : turn.ready ? std::move(*turn.ready)
                                                     : pass_.prepare(plan, batch, groups, stored);
  const auto evaluated = idle ? ObjectivePass::Evaluated{} : pass_.evaluate(mini);
  if (!evaluated) return UpdateOutcome::nonfinite;
  const auto& losses = evaluated->losses;
  const auto cut = [&](std::int64_t limit) {
    return backward_micro_batches(batch, groups, evaluated->derivative, limit);
  };
  auto micro_batches = leader() && !idle ? even_micro_batches(settings.micro_batch_tokens, cut)
                                         : std::vector<BackwardMicroBatch>();
  double computed = 0.0, useful = 0.0;
  for (const auto& micro_batch : micro_batches)
    computed += double(micro_batch.micro_batch.tokens.size()),
        useful +=
        double(std::int64_t(micro_batch.micro_batch.tokens.size()) - micro_batch.repeated);
  const auto found =
      leader() && !idle ? pass_.terms_of(*mini.prepared) : ObjectivePass::StepTerms();
  const auto [own, count, terms, trains] = pass_.deal(std::move(micro_batches), found, !idle);
  if (!trains) return UpdateOutcome::applied;
  const double before_s = columns.seconds() - (ranks_->waited_s() - waited_s);
  const auto same_bits = [&, &own = own](std::int64_t i, const model::Columns& seen) {
    const auto& known = own[std::size_t(i)].derivative.at_logprob;
    require<NumericsError>(
        std::memcmp(seen.logprob.data(), known.data(), known.size() * sizeof(float)) == 0 ||
            !all_finite(known),
        fmt::format("the training forward of step {} gives other log-probs than {}", plan.step,
                    stored ? "generation stored" : "the forward before it"),
        "the gradient would not be that of the policy that sampled",
        "start every rank with the same binary on one type of processor, then resume from the last checkpoint");
  };
  const auto passes =
      state_.sum_gradient(own, count, temperature_of(context_->config.sampling), same_bits);
  if (!passes) return UpdateOutcome::nonfinite;
  metrics["perf/tokens_computed"] += double(*passes) * computed;
  metrics["perf/tokens_useful"] += useful;
  std::map<std::string, double> step_metrics;
  columns.restart();
  if (leader()) {  // only the leader reports
    signals_.add(batch, groups, mini.prepared->rollout_advantages(), losses);
    step_metrics = mini.prepared->merge(losses);
  }
  if (mini.known) metrics["timing_s/columns"] += before_s + columns.seconds();
  const UpdateOutcome outcome = state_.apply(settings.optimizer, plan.lr * terms.lr_factor,
                                             plan.grad_norm_limit, step_metrics);
  if (outcome == UpdateOutcome::applied) {
    const auto& critic_settings = context_->config.critic.optimizer;
    if (model::ValueHead* critic = pass_.critic())
      step_metrics["critic/grad_norm"] =
          critic->apply(critic_settings,
                        model::learning_rate(critic_settings, std::int64_t(plan.step), plan.steps));
    pass_.note_applied(terms);
    ++course.applied;
    if (const double norm = step_metrics.at("actor/grad_norm"); norm > 0)
      course.norms.push_back(norm);
  }
  course.figures.add(step_metrics);
  return outcome;
}

void UpdateStage::train(const UpdatePlan& plan, StepBatch& batch, UpdateReport& report) {
  Course course;
  pass_.begin_step(objective_state_.statistics);
  if (leader() || data_.residency() == StepResidency::every_rank)
    models_.add_current_columns(batch, all_groups(batch), is_on_policy(batch));
  Opened opened = leader() ? open_step(plan, batch) : Opened{};
  for (std::int64_t epoch = 0;
       epoch < context_->config.train.epochs && report.outcome == UpdateOutcome::applied; ++epoch) {
    for (std::int64_t i = 0;
         i < context_->config.train.mini_batches && report.outcome == UpdateOutcome::applied; ++i) {
      report.outcome = train_mini_batch(
          plan, batch, {i, epoch == 0 && i == 0, std::exchange(opened.ready, std::nullopt)}, course,
          report.metrics);
    }
  }
  objective_state_.statistics = pass_.statistics();
  const Stopwatch closing;
  const bool told_apart = leader() && pass_.whole() != nullptr;
  auto rollouts = told_apart ? pass_.whole()->merge({}) : StepFigures::Figures();
  for (const auto& [name, value] : opened.figures) rollouts[name] = value;
  const auto figures = course.figures.take(rollouts, updates_of(context_->config) > 1);
  for (const auto& [name, value] : figures) report.metrics[name] = value;
  if (opened.columns_s > 0.0) report.metrics["timing_s/columns"] += opened.columns_s;
  if (told_apart && report.metrics.contains("timing_s/columns"))
    report.metrics["timing_s/columns"] += closing.seconds();
  report.updates = updates_of(context_->config), report.applied = course.applied;
  if (updates_of(context_->config) > 1) report.metrics["train/updates"] = double(course.applied);
  const auto& norms = course.norms;
  if (!norms.empty())
    report.gradient_norm = std::accumulate(norms.begin(), norms.end(), 0.0) / double(norms.size());
  pass_.end_step();
}

}  // namespace rollcall::run
