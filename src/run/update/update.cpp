// The messages of the update stage: supervised steps, training steps, checkpoints and rollbacks.
#include "run/update/update.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "method/columns.hpp"
#include "run/checkpoint/part.hpp"
#include "run/context/column_sources.hpp"
#include "run/context/run_context.hpp"
#include "run/context/run_texts.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/update/gradient_cosines.hpp"
#include "run/update/of_leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace rollcall::run {
namespace {

UpdateReport cut_report() {
  UpdateReport report;
  report.outcome = UpdateOutcome::cut;
  return report;
}

/// Examples in order, packed into micro-batches. The loss is the mean of -log-prob over all tokens
/// that are learnt. The first token of a sequence is never learnt, since no token before it
/// predicts it.
std::vector<BackwardMicroBatch> supervised_micro_batches(const RunContext& context,
                                                         const std::vector<PromptId>& examples,
                                                         std::int64_t micro_batch_tokens) {
  std::vector<BackwardMicroBatch> micro_batches;
  std::int64_t targets = 0;
  for (const PromptId id : examples) {
    const auto& [tokens, learnt] = context.texts.examples.at(id.value);
    if (micro_batches.empty() || std::int64_t(micro_batches.back().micro_batch.tokens.size() +
                                              tokens.size()) > micro_batch_tokens)
      micro_batches.push_back({{{}, {0}, {}}, {}});
    auto& micro_batch = micro_batches.back().micro_batch;
    for (const auto& [first, last] : learnt)
      for (std::int64_t t = std::max<std::int64_t>(first, 1); t < last; ++t, ++targets)
        micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()) + t);
    micro_batch.tokens.insert(micro_batch.tokens.end(), tokens.begin(), tokens.end());
    micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  }
  for (auto& [micro_batch, derivative, repeated] : micro_batches) {
    derivative.by.logprob.assign(micro_batch.targets.size(), float(-1.0 / double(targets)));
    derivative.by.entropy.assign(micro_batch.targets.size(), 0.0F);
  }
  return micro_batches;
}

/// The sum over all micro-batches. Only one rank knows the number of each micro-batch, and the
/// others pass 0. The result has the same bits on every rank. Collective.
double whole_sum(const std::vector<double>& by_micro_batch, comm::Communicator& ranks) {
  std::vector<std::int64_t> bits(by_micro_batch.size());  // a micro-batch has one owner, and other
                                                          // ranks add 0
  std::transform(by_micro_batch.begin(), by_micro_batch.end(), bits.begin(),
                 [](double value) { return std::bit_cast<std::int64_t>(value); });
  ranks.sum(bits);
  return std::accumulate(bits.begin(), bits.end(), 0.0, [](double sum, std::int64_t bit) {
    return sum + std::bit_cast<double>(bit);
  });
}

}  // namespace

UpdateStage::UpdateStage(RunContext& context, Mailbox& mail, comm::Communicator& ranks,
                         ShardCache& kept)
    : context_(&context),
      mail_(&mail),
      ranks_(&ranks),
      kept_(&kept),
      objective_(method::make_objective(context.config.objective.recipe,
                                        context.config.objective.pieces,
                                        context.config.objective.knobs)),
      models_(context, *objective_, ranks),
      objective_state_{.success = scheduling::SuccessTracker(
                           context.config.success, predictions(context.texts.prompts.train))},
      columns_(context.config, context.texts.prompts.train, *objective_, objective_state_),
      data_(context, *objective_, columns_, ranks, kept),
      pass_(context, *objective_, models_, columns_, ranks),
      state_(context, ranks) {}

void UpdateStage::finish(UpdateReport report) {
  report.version = context_->store->version().value;
  if (leader()) mail_->send(0, Tag::updated, report);
}

void UpdateStage::on_supervise(const SupervisePlan& plan) try {
  const Stopwatch clock;
  state_.enter_phase(true);
  const auto examples = of_leader(*ranks_, plan.prompts);
  auto micro_batches = even_micro_batches(
      context_->config.train.micro_batch_tokens,
      [&](std::int64_t limit) { return supervised_micro_batches(*context_, examples, limit); });
  const auto count = std::int64_t(micro_batches.size());
  const auto places = own_micro_batches(count, *ranks_);
  std::vector<BackwardMicroBatch> own;
  for (const auto i : places) own.push_back(std::move(micro_batches[std::size_t(i)]));
  UpdateReport report;
  std::vector<double> loss(micro_batches.size(), 0.0);
  const auto add_loss = [&](std::int64_t i, const model::Columns& columns) {
    const auto& derivative = own[std::size_t(i)].derivative.by.logprob;
    loss[std::size_t(places[std::size_t(i)])] =
        std::inner_product(columns.logprob.begin(), columns.logprob.end(), derivative.begin(), 0.0);
  };
  if (state_.sum_gradient(own, count, 1.0, add_loss)) {
    report.metrics["sft/loss"] = whole_sum(loss, *ranks_);
    report.outcome =
        state_.apply(context_->config.sft.optimizer, plan.lr, plan.grad_norm_limit, report.metrics);
    report.applied = report.outcome == UpdateOutcome::applied ? 1 : 0,
    report.gradient_norm = report.metrics.at("actor/grad_norm");
  } else {
    report.outcome = UpdateOutcome::nonfinite;
  }
  report.update_s = clock.seconds();
  finish(std::move(report));
} catch (const StepIsCut&) {
  finish(cut_report());
}

void UpdateStage::on_update(const UpdatePlan& plan) try {
  state_.enter_phase(false);
  ReferenceModel* const reference = models_.reference();
  if (reference != nullptr) {
    if (reference->takes_policy()) state_.fetch_weights();
    reference->begin_training();
  }
  UpdateReport report;
  const Stopwatch reading;
  StepBatch batch = data_.gather(plan);
  report.archive_s = reading.seconds();
  const Stopwatch clock;
  const double waited_before = ranks_->waited_s();
  models_.add_missing_logprobs(batch);
  models_.add_step_columns(batch);
  report.metrics = models_.add_asked_columns(batch, plan.step);
  if (const auto found = batch.columns.find(method::column::gradient_cosine);
      found != batch.columns.end()) {
    if (const double mean = mean_squared_cosine(found->second); !std::isnan(mean))
      report.metrics["train/gradient_cosine_sq"] = mean;
  }
  const auto drift = data_.measure_drift(batch, models_);
  signals_.note_drift(batch, drift);
  if (const auto known =
          std::count_if(drift.begin(), drift.end(), [](double d) { return !std::isnan(d); });
      known > 0)
    report.metrics["success/drift_mean"] =
        std::accumulate(drift.begin(), drift.end(), 0.0,
                        [](double sum, double d) { return std::isnan(d) ? sum : sum + d; }) /
        double(known);
  train(plan, batch, report);
  for (const auto& [pass, tokens] : models_.take_forward_tokens())
    report.metrics["perf/tokens_forward_" + pass] = tokens;
  const Stopwatch closing;
  if (leader()) report.metrics.merge(composition(batch));
  if (!context_->config.train.from_archive.empty())
    report.metrics["train/rollouts_generated"] = 0.0;
  report.groups = signals_.take();
  if (leader() && data_.hears_recipe()) {
    if (const double equal = equal_share(batch, data_.recipe_rewards(batch, plan));
        !std::isnan(equal))
      report.metrics["train/frac_reward_zero_std"] = equal;
  }
  batch = own_rollouts(std::move(batch));
  if (leader()) report.metrics.merge(std::map(data_.as_sampled()));
  if (const auto columns = report.metrics.find("timing_s/columns"); columns != report.metrics.end())
    columns->second += closing.seconds();
  namespace column = method::column;
  if (models_.wants(column::prior) || models_.wants(column::posterior) ||
      models_.wants(column::prompt_best_length))
    objective_state_.learn(batch, drift);
  data_.remember(std::move(batch));
  if (reference != nullptr && reference->changes(plan.step)) {
    state_.await_writer();
    state_.fetch_weights();
    reference->after_step(plan.step);
  }
  const double computed_s = clock.seconds() - (ranks_->waited_s() - waited_before),
               updated_s = clock.seconds();
  // Files are stored before the step is reported.
  auto stored = kept_->writer().finish(*ranks_, context_->config.run.deadline_s);
  const double stored_s = clock.seconds() - updated_s;
  end_step(report, computed_s, std::move(stored));
  report.archive_s += stored_s;
  report.update_s = clock.seconds() - stored_s;
  finish(std::move(report));
} catch (const StepIsCut&) {  // all update ranks throw it at the same place
  finish(cut_report());
}

void UpdateStage::end_step(UpdateReport& report, double own_s,
                           std::vector<io::PublishedFile> own_files) const {
  for (const auto& bytes : ranks_->gather(to_bytes(std::pair(own_s, std::move(own_files))), 0)) {
    auto [seconds, files] = from_bytes<std::pair<double, std::vector<io::PublishedFile>>>(bytes);
    report.compute_max_s = std::max(report.compute_max_s, seconds);
    report.compute_mean_s += seconds / double(ranks_->size());
    std::move(files.begin(), files.end(), std::back_inserter(report.stored));
  }
  std::sort(report.stored.begin(), report.stored.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

void UpdateStage::on_save(const SaveRequest& request) {
  io::CheckpointShare share{.files = {}, .earlier = request.earlier, .unchanged = {}};
  const auto writes = [this](Part part) {
    return is_written_by(part, ranks_->rank(), ranks_->size());
  };
  if (writes(Part::reference) && models_.reference() != nullptr)
    models_.reference()->add_to(share, request.name);
  if (writes(Part::value_head)) models_.add_value_head(share);
  if (writes(Part::objective))
    share.files[file_of(Part::objective)] = [state = objective_state_] { return state.to_json(); };
  state_.save(request.name, std::move(share));
}

void UpdateStage::restore_objective(const io::StoredCheckpoint& checkpoint, Restoring why) {
  const ObjectiveState seen = objective_state_;
  const std::string file = file_of(Part::objective);
  objective_state_.restore(checkpoint.read(file), checkpoint.name() + "/" + file);
  if (why == Restoring::resume) return;
  // A rollback restores the weights, but does not undo rollouts. Their results for prompts stay
  // known, both here and in the scheduler.
  objective_state_.success = seen.success, objective_state_.best_length = seen.best_length;
}

PartReaders UpdateStage::part_readers() {
  using Checkpoint = io::StoredCheckpoint;
  PartReaders readers;
  readers[Part::moments] = [this](const Checkpoint& from, Restoring) {
    state_.restore_moments(from);
  };
  readers[Part::objective] = [this](const Checkpoint& from, Restoring why) {
    restore_objective(from, why);
  };
  readers[Part::reference] = [this](const Checkpoint& from, Restoring) {
    if (models_.reference() != nullptr) models_.reference()->restore(from);
  };
  readers[Part::value_head] = [this](const Checkpoint& from, Restoring) {
    models_.restore_value_head(from);
  };
  return readers;
}

void UpdateStage::on_rollback(const std::string& name) {
  state_.begin_rollback();
  io::await_checkpoint(context_->run_dir, name);
  PartReaders readers = part_readers();
  readers[Part::weights] = [this](const io::StoredCheckpoint& from, Restoring) {
    state_.take_back_weights(from);
  };
  restore_parts(io::StoredCheckpoint(context_->run_dir, name), Restoring::rollback, readers);
  finish({});
}

}  // namespace rollcall::run
