// Leaves over ranks and threads, exact sums, the objective between them.
#include "run/update/update.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/judge_task.hpp"
#include "method/columns.hpp"
#include "run/step/heard_rewards.hpp"
#include "run/update/gradient_cosines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace rollcall::run {
namespace {

constexpr int kMostRepeats = 8;  ///< of an exact sum; the exponents fit after one or two

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

UpdateReport cut_report() {
  UpdateReport report;
  report.outcome = UpdateOutcome::cut;
  return report;
}

double temperature_of(const SamplingParams& sampling) {
  return sampling.temperature == 0.0 ? 1.0 : sampling.temperature;
}

/// Examples in order, packed into micro-batches; the loss is the mean of -log-prob over all tokens
/// that are learnt. The first token of a sequence has nothing before it that could tell it, so it
/// is never learnt.
std::vector<BackwardMicroBatch> supervised_micro_batches(const RunContext& context,
                                                         const std::vector<PromptId>& examples,
                                                         std::int64_t micro_batch_tokens) {
  std::vector<BackwardMicroBatch> micro_batches;
  std::int64_t targets = 0;
  for (const PromptId id : examples) {
    const auto& [tokens, learnt] = context.examples.at(id.value);
    if (micro_batches.empty() || std::int64_t(micro_batches.back().micro_batch.tokens.size() +
                                              tokens.size()) > micro_batch_tokens)
      micro_batches.push_back({{{}, {0}, {}}, {}, {}});
    auto& micro_batch = micro_batches.back().micro_batch;
    for (const auto& [first, last] : learnt)
      for (std::int64_t t = std::max<std::int64_t>(first, 1); t < last; ++t, ++targets)
        micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()) + t);
    micro_batch.tokens.insert(micro_batch.tokens.end(), tokens.begin(), tokens.end());
    micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  }
  for (auto& [micro_batch, derivative, logprob, repeated] : micro_batches) {
    derivative.logprob.assign(micro_batch.targets.size(), float(-1.0 / double(targets)));
    derivative.entropy.assign(micro_batch.targets.size(), 0.0F);
  }
  return micro_batches;
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
      auxiliary_models_(context, *objective_, ranks),
      objective_state_{.success = scheduling::SuccessTracker(context.config.success,
                                                             predictions(context.prompts.train))},
      drift_(reads_tracked_success(context.config, *objective_)),
      replay_(context.config.replay, std::uint64_t(context.config.run.seed)),
      step_at_(step_at(context.config, *objective_)),
      groups_(comm::make_node_groups(
          ranks, context.store->on_device() ? nullptr : context.transport.get())),
      by_transport_(context.transport->over(ranks)),
      begins_(model::optimizer_shares(context.store->layout().size, ranks.size())),
      optimizer_(make_optimizer()),
      mask_(mask_of_share(context, ranks, begins_[std::size_t(own_)],
                          begins_[std::size_t(own_) + 1])) {
  hears_recipe_ = hears_recipe(context.config, *objective_);
}

std::optional<int> UpdateStage::sum_gradient(const std::vector<BackwardMicroBatch>& own,
                                             std::int64_t count, double temperature,
                                             const SeeColumns& see) {
  const auto most = (count + ranks_->size() - 1) / ranks_->size();  // that any rank has
  for (int attempt = 0; attempt < kMostRepeats; ++attempt) {
    optimizer_->start();
    context_->micro_batches->run(
        std::int64_t(own.size()), [&](model::MicroBatchRunner& runner, std::int64_t i) {
          if (context_->cut->wanted()) return optimizer_->add_none();
          const BackwardMicroBatch& each = own[std::size_t(i)];
          see(i, optimizer_->add(runner, context_->store->policy(), each.micro_batch, temperature,
                                 each.derivative));
        });
    for (auto i = std::int64_t(own.size()); i < most; ++i) optimizer_->add_none();
    context_->cut->agree(*ranks_);
    const auto outcome = optimizer_->finish(*ranks_);
    if (outcome == model::SumOutcome::nonfinite) return std::nullopt;
    if (outcome == model::SumOutcome::ready) return attempt + 1;
  }
  throw NumericsError(error_message(
      fmt::format("the fixed-point gradient sum found no exponent in {} attempts", kMostRepeats),
      "the gradient cannot be summed exactly",
      "lower the learning rate or look at the data of this step"));
}

void UpdateStage::finish(UpdateReport report) {
  report.version = context_->store->version().value;
  if (leader()) mail_->send(0, Tag::updated, report);
}

void UpdateStage::on_supervise(const SupervisePlan& plan) try {
  const Stopwatch clock;
  enter_phase(true);
  const auto examples = of_leader(plan.prompts);
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
    const auto& derivative = own[std::size_t(i)].derivative.logprob;
    loss[std::size_t(places[std::size_t(i)])] =
        std::inner_product(columns.logprob.begin(), columns.logprob.end(), derivative.begin(), 0.0);
  };
  if (sum_gradient(own, count, 1.0, add_loss)) {
    report.metrics["sft/loss"] = whole_sum(loss);
    report.outcome =
        apply(context_->config.sft.optimizer, plan.lr, plan.grad_norm_limit, report.metrics);
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

method::StepColumns UpdateStage::with_step(method::StepColumns columns, const UpdatePlan& plan,
                                           const StepBatch& batch,
                                           const std::vector<std::size_t>& groups,
                                           const Statistics& statistics) const {
  const auto& config = context_->config;
  columns.seed = std::uint64_t(config.run.seed), columns.step = plan.step;
  columns.progress = plan.progress;
  columns.statistics = statistics;
  const auto by_prompt = [&](const char* name, const auto& value_of) {
    std::vector<double> column;
    for (const std::size_t g : groups) {
      const PromptId prompt = batch.groups[g].id.prompt;
      require<ConfigError>(
          !is_judge_task(prompt) || !auxiliary_models_.wants(name),
          fmt::format("objective.recipe {} reads {}, and step {} holds judge tasks",
                      config.objective.recipe, name, plan.step),
          "it is known of prompts that come again, and a judge task is asked once",
          "choose another recipe");
      column.insert(
          column.end(), batch.groups[g].rollouts.size(),
          is_judge_task(prompt) ? std::numeric_limits<double>::quiet_NaN() : value_of(prompt));
    }
    columns.named[name] = std::move(column);
  };
  namespace column = method::column;
  by_prompt(column::prior,
            [&](PromptId prompt) { return objective_state_.success.of(prompt).prior(); });
  by_prompt(column::posterior,
            [&](PromptId prompt) { return objective_state_.success.of(prompt).posterior(); });
  by_prompt(column::predicted, [&](PromptId prompt) {
    const bool known = prompt.value < context_->prompts.train.size();
    require<ConfigError>(
        known || !auxiliary_models_.wants(column::predicted),
        fmt::format(
            "objective.recipe {} reads what was predicted of each prompt, and step {} of the archive asks one that the run file does not have",
            config.objective.recipe, plan.step),
        "nothing is predicted of it",
        "train from an archive of the same questions, or choose another recipe");
    return known ? double(context_->prompts.train[prompt.value].prior)
                 : std::numeric_limits<double>::quiet_NaN();
  });
  by_prompt(column::prompt_best_length,
            [&](PromptId prompt) { return double(objective_state_.best(prompt)); });
  add_training(columns, batch, groups);
  return columns;
}

bool UpdateStage::is_on_policy(const StepBatch& batch) const {
  return batch.replayed == 0 && context_->config.train.from_archive.empty();
}

double UpdateStage::whole_sum(const std::vector<double>& by_micro_batch) const {
  std::vector<std::int64_t> bits(by_micro_batch.size());  // a micro-batch has one owner: the others
                                                          // add 0
  std::transform(by_micro_batch.begin(), by_micro_batch.end(), bits.begin(),
                 [](double value) { return std::bit_cast<std::int64_t>(value); });
  ranks_->sum(bits);
  return std::accumulate(bits.begin(), bits.end(), 0.0, [](double sum, std::int64_t bit) {
    return sum + std::bit_cast<double>(bit);
  });
}

UpdateStage::MiniBatch UpdateStage::prepare(const UpdatePlan& plan, const StepBatch& batch,
                                            const std::vector<std::size_t>& groups, bool stored) {
  MiniBatch mini;
  mini.known = critic() == nullptr && (stored || auxiliary_models_.wants_current());
  if (mini.known && !leader()) return mini;
  const std::int64_t micro_batch_tokens =
      mini.known
          ? std::max(method::kKnownMicroBatchTokens, context_->config.train.micro_batch_tokens)
          : context_->config.train.micro_batch_tokens;
  if (!mini.known) {
    mini.own = own_micro_batches(
        std::int64_t(micro_batch_groups(batch, groups, micro_batch_tokens).size()), *ranks_);
    if (mini.own.empty()) return mini;
  }
  mini.train =
      make_train_batch(batch, groups, micro_batch_tokens, context_->config.sampling.max_new_tokens);
  if (mini.known)
    mini.own.resize(mini.train.micro_batches.size()),
        std::iota(mini.own.begin(), mini.own.end(), 0);
  if (mini.known && !stored) auxiliary_models_.take_current(batch, groups, mini.train);
  mini.prepared = prepare_update(std::move(mini.train.columns), plan, batch, groups);
  return mini;
}

UpdateStage::LossShare UpdateStage::evaluate_micro_batch(const MiniBatch& mini, std::int64_t index,
                                                         model::MicroBatchRunner* runner) {
  const auto& range = mini.train.micro_batches[std::size_t(index)];
  model::Columns columns{range.logprob, range.entropy, {}, range.miss_logprob};
  std::vector<float> value;
  if (runner != nullptr) {
    model::MicroBatch micro_batch = range.micro_batch;
    micro_batch.hidden = critic() != nullptr;
    columns = runner->forward(context_->store->policy(), micro_batch,
                              temperature_of(context_->config.sampling));
    if (critic() != nullptr) value = critic()->values(columns.hidden);
  }
  columns.miss_logprob.resize(columns.logprob.size());  // none was missed where the micro-batch
                                                        // holds no expert's text
  auto loss = mini.prepared->evaluate(
      {range.rollouts, columns.logprob, columns.entropy, critic() != nullptr ? &value : nullptr,
       auxiliary_models_.draws() ? &columns.miss_logprob : nullptr});
  if (critic() != nullptr) critic()->add(columns.hidden, loss.dvalue);
  model::ColumnGradient derivative{std::exchange(loss.dlogprob, {}),
                                   std::exchange(loss.dentropy, {}),
                                   std::exchange(loss.dmiss_logprob, {})};
  return {index, std::move(loss), std::move(columns.logprob), std::move(derivative)};
}

std::optional<UpdateStage::Evaluated> UpdateStage::evaluate(const MiniBatch& mini) {
  std::vector<LossShare> shares(mini.own.size());
  const auto evaluate_own = [&](model::MicroBatchRunner* runner, std::int64_t i) {
    shares[std::size_t(i)] = evaluate_micro_batch(mini, mini.own[std::size_t(i)], runner);
  };
  for (int attempt = 0;; ++attempt) {
    if (critic() != nullptr) critic()->start();
    if (mini.known) {
      // one at a time: each takes milliseconds, and dozens of MB
      for (std::int64_t i = 0; i < std::int64_t(shares.size()); ++i) evaluate_own(nullptr, i);
    } else {
      context_->micro_batches->run(std::int64_t(shares.size()),
                                   [&](model::MicroBatchRunner& runner, std::int64_t i) {
                                     if (!context_->cut->wanted()) evaluate_own(&runner, i);
                                   });
      context_->cut->agree(*ranks_);
    }
    if (!mini.known) auxiliary_models_.note_forward("policy", mini.train);
    using Outcome = model::GradientSum::Outcome;
    const Outcome outcome = critic() != nullptr ? critic()->finish(*ranks_) : Outcome::ready;
    if (outcome == Outcome::nonfinite) return std::nullopt;
    if (outcome == Outcome::ready) break;
    require<NumericsError>(
        attempt + 1 < kMostRepeats, "the gradient sum of the value head found no exponent",
        "it cannot be summed exactly", "lower critic.lr or look at the data of this step");
  }
  if (!mini.known) {
    const auto all = ranks_->gather(leader() ? std::string() : to_bytes(shares), 0);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
      for (auto& share : from_bytes<std::vector<LossShare>>(all[rank]))
        shares.push_back(std::move(share));
    std::sort(shares.begin(), shares.end(),
              [](const LossShare& a, const LossShare& b) { return a.micro_batch < b.micro_batch; });
  }
  Evaluated whole;
  if (!leader()) return whole;
  const auto append = [](std::vector<float>& to, const std::vector<float>& values) {
    to.insert(to.end(), values.begin(), values.end());
  };
  for (auto& share : shares) {
    whole.losses.push_back(std::move(share.loss));
    append(whole.logprob, share.logprob);
    append(whole.derivative.logprob, share.derivative.logprob),
        append(whole.derivative.entropy, share.derivative.entropy);
    append(whole.derivative.miss_logprob, share.derivative.miss_logprob);
  }
  return whole;
}

UpdateStage::Dealt UpdateStage::deal(std::vector<BackwardMicroBatch> micro_batches,
                                     const StepTerms& terms, bool trains) const {
  std::vector<std::string> parts;
  std::vector<Dealt> dealt(leader() ? std::size_t(ranks_->size()) : 0,
                           Dealt{{}, std::int64_t(micro_batches.size()), terms, trains});
  for (std::size_t i = 0; i < micro_batches.size(); ++i)
    dealt[i % dealt.size()].micro_batches.push_back(std::move(micro_batches[i]));
  for (auto& part : dealt) {
    parts.push_back(parts.empty() ? std::string() : to_bytes(part));
    if (parts.size() > 1) part = {};
  }
  const auto own = ranks_->scatter(parts, 0);
  return leader() ? std::move(dealt.front()) : from_bytes<Dealt>(own);
}

UpdateOutcome UpdateStage::train_mini_batch(const UpdatePlan& plan, StepBatch& batch, Turn turn,
                                            std::map<std::string, double>& metrics) {
  const auto& settings = context_->config.train;
  const auto groups = mini_batch(batch, turn.index, settings.mini_batches);
  // the others hear from the leader what they run
  const bool here = leader() || step_at_ == StepResidency::every_rank;
  expect(!here || !batch.groups.empty(), "a step has rollouts");
  const bool idle = here && groups.empty();
  if (idle && step_at_ == StepResidency::every_rank) return UpdateOutcome::applied;
  const bool first = turn.first, stored = first && is_on_policy(batch);
  if (!first) auxiliary_models_.add_current_columns(batch, groups, false);
  Stopwatch columns;
  const double waited_s = ranks_->waited_s();
  const MiniBatch mini = idle         ? MiniBatch{}
                         : turn.ready ? std::move(*turn.ready)
                                      : prepare(plan, batch, groups, stored);
  const auto evaluated = idle ? Evaluated{} : evaluate(mini);
  if (!evaluated) return UpdateOutcome::nonfinite;
  const auto& losses = evaluated->losses;
  const auto cut = [&](std::int64_t limit) {
    return backward_micro_batches(batch, groups, evaluated->derivative, evaluated->logprob, limit);
  };
  auto micro_batches = leader() && !idle ? even_micro_batches(settings.micro_batch_tokens, cut)
                                         : std::vector<BackwardMicroBatch>();
  double computed = 0.0, useful = 0.0;
  for (const auto& micro_batch : micro_batches)
    computed += double(micro_batch.micro_batch.tokens.size()),
        useful +=
        double(std::int64_t(micro_batch.micro_batch.tokens.size()) - micro_batch.repeated);
  const StepTerms found = leader() && !idle ? terms_of(*mini.prepared) : StepTerms();
  const auto [own, count, terms, trains] = deal(std::move(micro_batches), found, !idle);
  if (!trains) return UpdateOutcome::applied;
  const double before_s = columns.seconds() - (ranks_->waited_s() - waited_s);
  const auto same_bits = [&, &own = own](std::int64_t i, const model::Columns& seen) {
    const auto& known = own[std::size_t(i)].logprob;
    require<NumericsError>(
        std::memcmp(seen.logprob.data(), known.data(), known.size() * sizeof(float)) == 0 ||
            !all_finite(known),
        fmt::format("the training forward of step {} gives other log-probs than {}", plan.step,
                    stored ? "generation stored" : "the forward before it"),
        "the gradient would not be that of the policy that sampled",
        "start every rank with the same binary on one type of processor, then resume from the last checkpoint");
  };
  const auto passes =
      sum_gradient(own, count, temperature_of(context_->config.sampling), same_bits);
  if (!passes) return UpdateOutcome::nonfinite;
  metrics["perf/tokens_computed"] += double(*passes) * computed;
  metrics["perf/tokens_useful"] += useful;
  std::map<std::string, double> step_metrics;
  columns.restart();
  if (leader()) {  // who reports
    signals_.add(batch, groups, mini.prepared->rollout_advantages(), losses);
    step_metrics = mini.prepared->merge(losses);
  }
  if (mini.known) metrics["timing_s/columns"] += before_s + columns.seconds();
  const UpdateOutcome outcome =
      apply(settings.optimizer, plan.lr * terms.lr_factor, plan.grad_norm_limit, step_metrics);
  if (outcome == UpdateOutcome::applied) {
    const auto& critic_settings = context_->config.critic.optimizer;
    if (critic() != nullptr)
      step_metrics["critic/grad_norm"] = critic()->apply(
          critic_settings,
          model::learning_rate(critic_settings, std::int64_t(plan.step), plan.steps));
    course_.now = terms.statistics, course_.after = terms.after_step;
    ++course_.applied;
    if (const double norm = step_metrics.at("actor/grad_norm"); norm > 0)
      course_.norms.push_back(norm);
  }
  course_.figures.add(step_metrics);
  return outcome;
}

void UpdateStage::on_update(const UpdatePlan& plan) try {
  enter_phase(false);
  if (auxiliary_models_.takes_policy()) fetch_weights();
  auxiliary_models_.begin_training();
  UpdateReport report;
  const Stopwatch reading;
  StepBatch batch = gather(plan);
  report.archive_s = reading.seconds();
  const Stopwatch clock;
  const double waited_before = ranks_->waited_s();
  auxiliary_models_.add_missing_logprobs(batch);
  auxiliary_models_.add_step_columns(batch);
  report.metrics = auxiliary_models_.add_probe_columns(batch, plan.step);
  if (const auto found = batch.columns.find(method::column::gradient_cosine);
      found != batch.columns.end()) {
    if (const double mean = mean_squared_cosine(found->second); !std::isnan(mean))
      report.metrics["train/gradient_cosine_sq"] = mean;
  }
  const auto drift = drift_.measure(batch, auxiliary_models_);
  signals_.note_drift(batch, drift);
  if (const auto known =
          std::count_if(drift.begin(), drift.end(), [](double d) { return !std::isnan(d); });
      known > 0)
    report.metrics["success/drift_mean"] =
        std::accumulate(drift.begin(), drift.end(), 0.0,
                        [](double sum, double d) { return std::isnan(d) ? sum : sum + d; }) /
        double(known);
  train(plan, batch, report);
  for (const auto& [pass, tokens] : auxiliary_models_.take_forward_tokens())
    report.metrics["perf/tokens_forward_" + pass] = tokens;
  const Stopwatch closing;
  if (leader()) report.metrics.merge(composition(batch));
  if (!context_->config.train.from_archive.empty())
    report.metrics["train/rollouts_generated"] = 0.0;
  report.groups = signals_.take();
  if (leader() && hears_recipe_) {
    if (const double equal = equal_share(batch, heard(batch, plan)); !std::isnan(equal))
      report.metrics["train/frac_reward_zero_std"] = equal;
  }
  batch = own_rollouts(std::move(batch));
  if (leader()) report.metrics.merge(rollout_metrics(batch));
  if (const auto columns = report.metrics.find("timing_s/columns"); columns != report.metrics.end())
    columns->second += closing.seconds();
  namespace column = method::column;
  if (auxiliary_models_.wants(column::prior) || auxiliary_models_.wants(column::posterior) ||
      auxiliary_models_.wants(column::prompt_best_length))
    objective_state_.learn(batch, drift);
  drift_.remember(batch);
  if (replay_.on()) replay_.remember(std::move(batch));
  if (auxiliary_models_.changes_reference(plan.step)) {
    await_writer();
    fetch_weights();
  }
  auxiliary_models_.after_step(plan.step);
  const double computed_s = clock.seconds() - (ranks_->waited_s() - waited_before),
               updated_s = clock.seconds();
  // before anybody hears what the step has taught
  auto stored = kept_->writer().finish(*ranks_, context_->config.run.deadline_s);
  const double stored_s = clock.seconds() - updated_s;
  end_step(report, computed_s, std::move(stored));
  report.archive_s += stored_s;
  report.update_s = clock.seconds() - stored_s;
  finish(std::move(report));
} catch (const StepIsCut&) {  // thrown by all update ranks at one place
  finish(cut_report());
}

}  // namespace rollcall::run
