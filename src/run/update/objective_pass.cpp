// Preparation, evaluation and dealing of a mini-batch. The leader prepares if the columns are
// known. Otherwise each rank evaluates the micro-batches for which it has run the forward pass.
#include "run/update/objective_pass.hpp"

#include "base/errors/error.hpp"
#include "method/columns.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/update/temperature.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rollcall::run {

ObjectivePass::ObjectivePass(RunContext& context, const method::Objective& objective,
                             AuxiliaryModels& models, const PromptColumns& columns,
                             comm::Communicator& ranks)
    : context_(&context),
      objective_(&objective),
      models_(&models),
      columns_(&columns),
      ranks_(&ranks) {}

model::ValueHead* ObjectivePass::critic() const {
  return objective_->needs_value() ? models_->value_head() : nullptr;
}

void ObjectivePass::begin_step(Statistics statistics) {
  whole_.reset();
  given_ = now_ = after_ = std::move(statistics);
}

void ObjectivePass::note_applied(const StepTerms& terms) {
  now_ = terms.statistics;
  after_ = terms.after_step;
}

const method::Prepared& ObjectivePass::prepare_whole(const UpdatePlan& plan,
                                                     const StepBatch& batch) {
  if (!whole_) {
    const auto training = mini_batch(batch, 0, 1);
    auto columns = make_train_batch(batch, training, context_->config.train.micro_batch_tokens,
                                    context_->config.sampling.max_new_tokens)
                       .columns;
    whole_ = objective_->prepare_step(
        columns_->complete(std::move(columns), plan, batch, training, given_));
  }
  return *whole_;
}

std::shared_ptr<const method::Prepared> ObjectivePass::prepare_update(
    method::StepColumns columns, const UpdatePlan& plan, const StepBatch& batch,
    const std::vector<std::size_t>& groups) {
  columns = columns_->complete(std::move(columns), plan, batch, groups, now_);
  const auto training = mini_batch(batch, 0, 1);
  // A call with more groups than those that train prepares the whole step and no update.
  if (updates_of(context_->config) == 1 || groups.size() > training.size())
    return objective_->prepare(columns);
  std::vector<std::int64_t> rollouts;  // indices of these groups' rollouts among all that train
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
  return objective_->prepare_update(columns, prepare_whole(plan, batch), std::move(rollouts));
}

ObjectivePass::StepTerms ObjectivePass::terms_of(const method::Prepared& update) const {
  const auto statistics = update.statistics();
  return {update.lr_factor(), statistics, after_step(statistics)};
}

ObjectivePass::Statistics ObjectivePass::after_step(Statistics now) const {
  if (!whole_) return now;
  // Statistics that the step's rollouts have moved are taken from the whole step, and the others
  // from its updates.
  for (const auto& [name, value] : whole_->statistics()) {
    const auto given = given_.find(name);
    if (given == given_.end() || given->second != value) now[name] = value;
  }
  return now;
}

ObjectivePass::MiniBatch ObjectivePass::prepare(const UpdatePlan& plan, const StepBatch& batch,
                                                const std::vector<std::size_t>& groups,
                                                bool stored) {
  MiniBatch mini;
  mini.known = critic() == nullptr && (stored || models_->wants_current());
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
  if (mini.known && !stored) models_->take_current(batch, groups, mini.train);
  mini.prepared = prepare_update(std::move(mini.train.columns), plan, batch, groups);
  return mini;
}

ObjectivePass::LossShare ObjectivePass::evaluate_micro_batch(const MiniBatch& mini,
                                                             std::int64_t index,
                                                             model::MicroBatchRunner* runner) {
  const auto& range = mini.train.micro_batches[std::size_t(index)];
  model::Columns columns{range.stored};
  std::vector<float> value;
  if (runner != nullptr) {
    model::MicroBatch micro_batch = range.micro_batch;
    micro_batch.hidden = critic() != nullptr;
    columns = runner->forward(context_->store->policy(), micro_batch,
                              temperature_of(context_->config.sampling));
    if (critic() != nullptr) value = critic()->values(columns.hidden);
  }
  columns.miss_logprob.resize(columns.logprob.size());  // without an expert's text there are no
                                                        // missed draws
  auto loss = mini.prepared->evaluate({range.rollouts, columns.logprob, columns.entropy,
                                       critic() != nullptr ? &value : nullptr,
                                       models_->draws() ? &columns.miss_logprob : nullptr});
  if (critic() != nullptr) critic()->add(columns.hidden, loss.dvalue);
  LossDerivative derivative{{std::exchange(loss.dlogprob, {}), std::exchange(loss.dentropy, {}),
                             std::exchange(loss.dmiss_logprob, {})},
                            std::move(columns.logprob)};
  return {index, std::move(loss), std::move(derivative)};
}

std::optional<ObjectivePass::Evaluated> ObjectivePass::evaluate(const MiniBatch& mini) {
  std::vector<LossShare> shares(mini.own.size());
  const auto evaluate_own = [&](model::MicroBatchRunner* runner, std::int64_t i) {
    shares[std::size_t(i)] = evaluate_micro_batch(mini, mini.own[std::size_t(i)], runner);
  };
  for (int attempt = 0;; ++attempt) {
    if (critic() != nullptr) critic()->start();
    if (mini.known) {
      // Not in parallel, because each micro-batch takes only milliseconds but dozens of MB.
      for (std::int64_t i = 0; i < std::int64_t(shares.size()); ++i) evaluate_own(nullptr, i);
    } else {
      context_->threads.micro_batches->run(std::int64_t(shares.size()),
                                           [&](model::MicroBatchRunner& runner, std::int64_t i) {
                                             if (!context_->threads.cut->wanted())
                                               evaluate_own(&runner, i);
                                           });
      context_->threads.cut->agree(*ranks_);
    }
    if (!mini.known) models_->note_forward("policy", mini.train);
    using Outcome = model::GradientSum::Outcome;
    const Outcome outcome = critic() != nullptr ? critic()->finish(*ranks_) : Outcome::ready;
    if (outcome == Outcome::nonfinite) return std::nullopt;
    if (outcome == Outcome::ready) break;
    require<NumericsError>(attempt + 1 < model::kMostSumAttempts,
                           "the gradient sum of the value head found no exponent",
                           "it cannot be summed exactly",
                           "lower critic.lr or look at the data of this step");
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
    append(whole.derivative.at_logprob, share.derivative.at_logprob);
    append(whole.derivative.by.logprob, share.derivative.by.logprob);
    append(whole.derivative.by.entropy, share.derivative.by.entropy);
    append(whole.derivative.by.miss_logprob, share.derivative.by.miss_logprob);
  }
  return whole;
}

ObjectivePass::Dealt ObjectivePass::deal(std::vector<BackwardMicroBatch> micro_batches,
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

}  // namespace rollcall::run
