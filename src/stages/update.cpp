// Leaves over ranks and threads, exact sums, AdamW on every rank's share.
#include "stages/update.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "objective/columns.hpp"
#include "stages/experts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

/// What travels of a leaf's loss: the derivative columns stay where they were used.
struct LossShare {
  std::int64_t leaf = 0;
  double loss = 0.0;
  std::map<std::string, double> sums, minima, maxima;
  std::vector<double> rollout_loss;

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& leaf& loss& sums& minima& maxima& rollout_loss;
  }
};

double temperature_of(const SamplingParams& sampling) { return sampling.temperature == 0.0 ? 1.0 : sampling.temperature; }

at::Tensor as_double(const std::vector<float>& column) {
  return at::from_blob(const_cast<float*>(column.data()), {std::int64_t(column.size())}, at::kFloat).to(at::kDouble);
}

std::vector<float> as_floats(const at::Tensor& column) {
  const auto narrow = column.to(at::kFloat).contiguous();
  return {narrow.const_data_ptr<float>(), narrow.const_data_ptr<float>() + narrow.numel()};
}

/// Examples in order, packed into leaves. The first token of a sequence has nothing before it that could tell it, so it is never learnt.
std::vector<model::Leaf> supervised_leaves(const Job& job, const std::vector<PromptId>& examples, std::int64_t leaf_tokens, std::int64_t& targets) {
  std::vector<model::Leaf> leaves;
  targets = 0;
  for (const PromptId id : examples) {
    const auto& [tokens, learnt] = job.examples.at(id.value);
    if (leaves.empty() || std::int64_t(leaves.back().tokens.size() + tokens.size()) > leaf_tokens) leaves.push_back({{}, {0}, {}});
    auto& leaf = leaves.back();
    for (const auto& [first, last] : learnt)
      for (std::int64_t t = std::max<std::int64_t>(first, 1); t < last; ++t, ++targets) leaf.targets.push_back(std::int64_t(leaf.tokens.size()) + t);
    leaf.tokens.insert(leaf.tokens.end(), tokens.begin(), tokens.end());
    leaf.offsets.push_back(std::int64_t(leaf.tokens.size()));
  }
  return leaves;
}

}  // namespace

Update::Update(Job& job, Mailbox& mail, comm::Communicator& ranks)
    : job_(&job),
      mail_(&mail),
      ranks_(&ranks),
      objective_(job.config.objective.recipe, job.config.objective.pieces, job.config.objective.knobs),
      companions_(job, objective_, ranks),
      replay_(job.config.replay, std::uint64_t(job.config.run.seed)),
      begins_(model::optimizer_shares(job.store->layout().size, ranks.size())),
      sum_(job.store->layout(), begins_) {
  const auto own = std::size_t(begins_[std::size_t(ranks.rank()) + 1] - begins_[std::size_t(ranks.rank())]);
  optimizer_ = {std::vector<float>(own, 0.0F), std::vector<float>(own, 0.0F), 0};
  gradients_.assign(std::size_t(job.workers->threads()), std::vector<float>(std::size_t(job.store->layout().size)));
}

std::vector<objective::LeafLoss> Update::run_leaves(std::int64_t leaves, const LeafTask& task) {
  // Leaf i belongs to update rank i mod R: who computes it changes nothing, since the sum is exact.
  const std::int64_t first = ranks_->rank(), stride = ranks_->size();
  const std::int64_t mine = leaves > first ? (leaves - first + stride - 1) / stride : 0;
  std::vector<objective::LeafLoss> losses{std::size_t(mine)};
  job_->workers->run(mine, [&](std::int64_t i, int thread) {
    auto& gradient = gradients_[std::size_t(thread)];
    losses[std::size_t(i)] = task(first + i * stride, gradient);
    sum_.add(gradient);
  });
  return losses;
}

std::optional<std::vector<objective::LeafLoss>> Update::sum_leaves(std::int64_t leaves, const LeafTask& task, model::ValueHead* critic) {
  using Outcome = model::GradientSum::Outcome;
  for (int attempt = 0; attempt < 8; ++attempt) {
    sum_.start();
    if (critic != nullptr) critic->start();
    auto losses = run_leaves(leaves, task);
    // Both sums repeat until both are ready; a sum that already was gives the same bits again.
    const Outcome policy = sum_.finish(*ranks_), value = critic != nullptr ? critic->finish(*ranks_) : Outcome::ready;
    if (policy == Outcome::nonfinite || value == Outcome::nonfinite) return std::nullopt;
    if (policy == Outcome::ready && value == Outcome::ready) return share_losses(leaves, std::move(losses));
  }
  throw NumericsError(error_message("the fixed-point gradient sum found no exponent in 8 attempts", "the gradient cannot be summed exactly",
                                    "lower the learning rate or look at the data of this step"));
}

std::vector<objective::LeafLoss> Update::share_losses(std::int64_t leaves, std::vector<objective::LeafLoss> mine) {
  std::vector<LossShare> shares;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    shares.push_back({ranks_->rank() + std::int64_t(i) * ranks_->size(), mine[i].loss, mine[i].sums, mine[i].minima, mine[i].maxima, mine[i].rollout_loss});
  }
  std::vector<objective::LeafLoss> all{std::size_t(leaves)};
  for (const auto& bytes : ranks_->gather_all(to_bytes(shares))) {
    for (auto& share : from_bytes<std::vector<LossShare>>(bytes)) {
      auto& loss = all.at(std::size_t(share.leaf));
      loss.loss = share.loss;
      loss.sums = std::move(share.sums), loss.minima = std::move(share.minima), loss.maxima = std::move(share.maxima);
      loss.rollout_loss = std::move(share.rollout_loss);
    }
  }
  return all;
}

UpdateOutcome Update::apply(const OptimizerSection& settings, double lr, double norm_limit, std::map<std::string, double>& metrics) {
  const model::GradientShare gradient = sum_.gradient();
  metrics["actor/grad_norm"] = gradient.norm;
  metrics["actor/lr"] = lr;
  if (norm_limit > 0 && gradient.norm > norm_limit) return UpdateOutcome::spike;
  model::apply_adamw(job_->store->layout(), settings, lr, gradient, job_->store->weights(), optimizer_);
  ranks_->gather_shares(job_->store->weights(), begins_);
  job_->store->publish(PolicyVersion{job_->store->version().value + 1});
  return UpdateOutcome::applied;
}

void Update::enter_phase(bool supervised) {
  if (supervised == supervised_phase_) return;
  // Moments of the supervised loss would set the size of the first policy-gradient steps.
  std::fill(optimizer_.m.begin(), optimizer_.m.end(), 0.0F);
  std::fill(optimizer_.v.begin(), optimizer_.v.end(), 0.0F);
  optimizer_.step = 0;
  supervised_phase_ = supervised;
}

void Update::finish(UpdateReport report) {
  report.version = job_->store->version().value;
  if (leader()) mail_->send(0, Tag::updated, report);
}

void Update::on_supervise(const SupervisePlan& plan) {
  const Stopwatch clock;
  enter_phase(true);
  std::int64_t targets = 0;
  const auto leaves = supervised_leaves(*job_, plan.prompts, job_->config.train.leaf_tokens, targets);
  const auto task = [&](std::int64_t i, std::span<float> gradient) {
    objective::LeafLoss share;
    model::forward_backward(
        job_->store->policy(), leaves[std::size_t(i)], 1.0,
        [&](const model::Columns& columns) {
          for (const float logprob : columns.logprob) share.loss -= double(logprob) / double(targets);
          return model::ColumnGradient{std::vector<float>(columns.logprob.size(), float(-1.0 / double(targets))),
                                       std::vector<float>(columns.entropy.size(), 0.0F)};
        },
        gradient);
    return share;
  };
  UpdateReport report;
  if (const auto losses = sum_leaves(std::int64_t(leaves.size()), task)) {
    double loss = 0.0;
    for (const auto& share : *losses) loss += share.loss;
    report.metrics["sft/loss"] = loss;
    report.outcome = apply(job_->config.sft.optimizer, plan.lr, plan.grad_norm_limit, report.metrics);
  } else {
    report.outcome = UpdateOutcome::nonfinite;
  }
  report.update_s = clock.seconds();
  finish(std::move(report));
}

objective::StepColumns Update::with_step(objective::StepColumns columns, const UpdatePlan& plan, const StepBatch& batch,
                                         const std::vector<std::size_t>& groups) const {
  const auto& config = job_->config;
  columns.seed = std::uint64_t(config.run.seed), columns.step = plan.step;
  columns.progress = double(plan.step - 1) / double(std::max<std::int64_t>(config.train.steps, 1));
  columns.statistics = objective_state_.statistics;
  std::vector<double> prior, best_length;
  for (const std::size_t g : groups) {
    const PromptHistory history = objective_state_.of(batch.groups[g].id.prompt);
    prior.insert(prior.end(), batch.groups[g].rollouts.size(), history.prior());
    best_length.insert(best_length.end(), batch.groups[g].rollouts.size(), double(history.best_length));
  }
  columns.named[objective::column::prior] = at::tensor(prior, at::kDouble);
  columns.named[objective::column::prompt_best_length] = at::tensor(best_length, at::kDouble);
  add_training(columns, plan.training, batch, groups);
  return columns;
}

UpdateOutcome Update::train_mini_batch(const UpdatePlan& plan, StepBatch& batch, std::int64_t index, bool first, std::map<std::string, double>& metrics) {
  const auto& settings = job_->config.train;
  const auto groups = mini_batch(batch, index, settings.mini_batches);
  companions_.add_current_columns(batch, groups, first);
  auto train = make_train_batch(batch, groups, settings.leaf_tokens, job_->config.sampling.max_new_tokens);
  const auto prepared = objective_.prepare(with_step(std::move(train.columns), plan, batch, groups));
  model::ValueHead* const critic = objective_.needs_value() ? companions_.value_head() : nullptr;
  const auto task = [&](std::int64_t i, std::span<float> gradient) {
    auto& part = train.leaves[std::size_t(i)];
    part.leaf.hidden = critic != nullptr;
    objective::LeafLoss loss;
    model::forward_backward(
        job_->store->policy(), part.leaf, temperature_of(job_->config.sampling),
        [&](const model::Columns& columns) {
          const at::Tensor value = critic != nullptr ? as_double(critic->values(columns.hidden)) : at::Tensor();
          loss = objective_.evaluate(*prepared, {part.rollouts, as_double(columns.logprob), as_double(columns.entropy), value});
          if (critic != nullptr) critic->add(columns.hidden, as_floats(loss.dvalue));
          return model::ColumnGradient{as_floats(loss.dlogprob), as_floats(loss.dentropy)};
        },
        gradient);
    return loss;
  };
  const auto losses = sum_leaves(std::int64_t(train.leaves.size()), task, critic);
  if (!losses) return UpdateOutcome::nonfinite;
  signals_.add(batch, groups, objective::Objective::rollout_advantages(*prepared), *losses);
  auto step_metrics = objective::merge(*prepared, *losses);
  const UpdateOutcome outcome = apply(settings.optimizer, plan.lr * objective::Objective::lr_factor(*prepared), plan.grad_norm_limit, step_metrics);
  if (outcome == UpdateOutcome::applied) {
    const auto& critic_settings = job_->config.critic.optimizer;
    if (critic != nullptr)
      step_metrics["critic/grad_norm"] = critic->apply(critic_settings, model::learning_rate(critic_settings, std::int64_t(plan.step), settings.steps));
    objective_state_.statistics = objective::Objective::statistics(*prepared);
  }
  // The step's metrics are those of its first update; later mini-batches add the range of the ratio, which is what moves.
  for (const auto& [name, value] : step_metrics) {
    if (first) metrics[name] = value;
    if (name == "actor/ratio_min" || name == "actor/ratio_max") metrics[name + "_last"] = value;
  }
  return outcome;
}

StepBatch Update::closed(StepBatch step, std::uint64_t number) const {
  if (job_->config.task.shuffle_rewards) shuffle_rewards(step, std::uint64_t(job_->config.run.seed), number);
  return step;
}

void Update::recall(std::uint64_t step) {
  if (!earlier_) return;
  const std::uint64_t now = job_->store->version().value, limit = std::uint64_t(job_->config.replay.max_staleness);
  for (auto& batch : read_earlier_steps(job_->run_dir, *earlier_, step, now - std::min(now, limit), *ranks_)) {
    const std::uint64_t number = batch.groups.empty() ? 0 : batch.groups.front().id.step;
    replay_.remember(closed(std::move(batch), number));
  }
  earlier_.reset();
}

StepBatch Update::sampled(const UpdatePlan& plan) {
  if (job_->config.train.from_archive.empty()) return read_step(job_->run_dir, plan.files, *ranks_);
  if (leader() && !archived_) archived_.emplace(*job_);
  return from_bytes<StepBatch>(ranks_->gather_all(leader() ? to_bytes(archived_->read(plan.step)) : std::string())[0]);
}

StepBatch Update::gather(const UpdatePlan& plan) {
  StepBatch batch = closed(sampled(plan), plan.step);
  batch.policy = job_->store->version();
  if (replay_.on()) {
    recall(plan.step);
    replay_.forget(batch.policy);
    replay_.add_to(batch, plan.step);
  }
  add_experts(batch, *job_, plan.step);
  return batch;
}

void Update::on_update(const UpdatePlan& plan) {
  enter_phase(false);
  companions_.begin_training();
  UpdateReport report;
  const Stopwatch reading;
  StepBatch batch = gather(plan);
  report.archive_s = reading.seconds();
  const Stopwatch clock;
  companions_.add_missing_logprobs(batch);
  companions_.add_step_columns(batch);
  for (std::int64_t epoch = 0; epoch < job_->config.train.epochs && report.outcome == UpdateOutcome::applied; ++epoch) {
    for (std::int64_t i = 0; i < job_->config.train.mini_batches && report.outcome == UpdateOutcome::applied; ++i) {
      report.outcome = train_mini_batch(plan, batch, i, epoch == 0 && i == 0, report.metrics);
    }
  }
  if (!job_->config.train.from_archive.empty()) report.metrics.merge(archived_metrics(batch));
  report.metrics.merge(composition(batch));
  batch = own_rollouts(std::move(batch));
  if (companions_.wants(objective::column::prior) || companions_.wants(objective::column::prompt_best_length)) {
    objective_state_.learn(batch, job_->config.objective.prior_decay);
  }
  report.groups = signals_.take();
  if (replay_.on()) replay_.remember(std::move(batch));
  companions_.after_step(plan.step);
  report.update_s = clock.seconds();
  finish(std::move(report));
}

}  // namespace rollcall::stages
