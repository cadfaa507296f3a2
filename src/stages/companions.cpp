// Forward passes over leaves shared out to the update ranks; the columns come back to every rank.
#include "stages/companions.hpp"

#include "base/error.hpp"
#include "method/columns.hpp"
#include "model/model_folder.hpp"
#include "stages/gradient_cosines.hpp"
#include "stages/message_bytes.hpp"
#include "stages/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace rollcall::stages {
namespace {

namespace column = method::column;

constexpr std::array from_the_batch = {column::old_entropy,        column::correct,      column::answer,    column::expert,
                                       column::version_lag,        column::prior,        column::posterior, column::predicted,
                                       column::prompt_best_length, column::greedy_reward};
constexpr std::array from_a_pass = {column::reference_logprob, column::teacher_logprob, column::teacher_kl,      column::current_logprob,
                                    column::current_entropy,   column::sum_squares,     column::value,           column::gradient_cosine,
                                    column::reasoning_step,    column::probe_accuracy,  column::probe_confidence};

bool among(const auto& names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

constexpr const char* kLogprob = "logprob";

std::vector<std::size_t> indices(std::size_t first, std::size_t last) {
  std::vector<std::size_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::size_t tokens_of(const Group& group) {
  std::size_t count = 0;
  for (const auto& rollout : group.rollouts)
    for (const auto& turn : rollout.turns) count += turn.logprob.size();
  return count;
}

/// Leaves hold whole groups in the order given, so their columns are dealt out again by length: so many numbers for a group.
void deal(StepBatch& batch, const std::vector<std::size_t>& groups, const std::vector<std::map<std::string, std::vector<float>>>& of_leaves,
          const std::function<std::size_t(const Group&)>& length_of) {
  std::size_t leaf = 0, at = 0;
  for (const std::size_t g : groups) {
    const std::size_t length = length_of(batch.groups[g]);
    if (length == 0) continue;
    while (at == of_leaves.at(leaf).begin()->second.size()) ++leaf, at = 0;
    for (const auto& [name, values] : of_leaves[leaf]) {
      auto& column = batch.columns[name];
      column.resize(batch.groups.size());
      column[g].assign(values.begin() + std::ptrdiff_t(at), values.begin() + std::ptrdiff_t(at + length));
    }
    at += length;
  }
}

double temperature_of(double temperature) { return temperature == 0.0 ? 1.0 : temperature; }
double temperature_of(const SamplingParams& sampling) { return temperature_of(sampling.temperature); }

}  // namespace

model::Policy read_policy(const std::string& folder, const PolicyStore& store, const char* key) {
  model::Policy policy = model::read_policy(folder, &store.kernels());
  require<ConfigError>(policy.config().vocab_size == store.config().vocab_size,
                       fmt::format("{} = {} has {} tokens, the policy {}", key, folder, policy.config().vocab_size, store.config().vocab_size),
                       "log-probs of the same tokens are compared", "use a model with the policy's tokenizer");
  return policy;
}

bool runs_passes(const method::Method& objective) {
  const auto columns = objective.columns();
  return objective.needs_value() || std::any_of(columns.begin(), columns.end(), [](const std::string& name) {
           const bool stored = name == column::current_logprob || name == column::current_entropy;
           return (among(from_a_pass, name) && !stored) || name.starts_with(column::flat_reference);
         });
}

Companions::Companions(Job& job, const method::Method& objective, comm::Communicator& ranks) : job_(&job), ranks_(&ranks) {
  for (const auto& name : objective.columns()) {
    require<ConfigError>(among(from_the_batch, name) || among(from_a_pass, name) || name.starts_with("component/") || name.starts_with(column::flat_reference),
                         fmt::format("objective.recipe {} reads the column {}, which no stage provides", job.config.objective.recipe, name),
                         "the loss cannot be computed without it", "choose another recipe or replace the piece that reads it");
    wanted_.insert(name);
  }
  require<ConfigError>(
      !wants(column::predicted) || std::none_of(job.prompts.train.begin(), job.prompts.train.end(), [](const Prompt& p) { return std::isnan(p.prior); }),
      fmt::format("objective.recipe {} requires a value model's prediction for every prompt, which this run does not provide", job.config.objective.recipe),
      "the prediction is its baseline",
      "name the key of the question file that holds it in task.prior_key; the tracked success stands in where objective.knobs says so "
      "(rollcall recipes NAME)");
  for (const auto& knob : objective.unset()) {
    throw ConfigError(error_message(fmt::format("objective.recipe {} requires {}, which is not set", job.config.objective.recipe, knob),
                                    "no default can be meant, and a run without it would train something else", "set it under objective.knobs"));
  }
  if (objective.needs_value()) wanted_.insert(column::value);
  if (wants(column::value)) value_head_.emplace(job.store->config().hidden_size);
  if (wants(column::teacher_logprob) || wants(column::teacher_kl)) {
    require<ConfigError>(!job.config.teacher.model.empty(),
                         fmt::format("objective.recipe {} follows a teacher, but teacher.model is empty", job.config.objective.recipe),
                         "there is nothing to distil from", "set teacher.model to a model folder");
    teacher_.emplace(read_policy(job.config.teacher.model, *job.store, "teacher.model"));
  }
  if (wants(column::reference_logprob) && !job.config.reference.model.empty()) {
    auto loaded = model::read_model_folder(job.config.reference.model);
    require<ConfigError>(std::int64_t(loaded.weights.size()) == job.store->layout().size && loaded.config.vocab_size == job.store->config().vocab_size,
                         fmt::format("reference.model = {} has a different shape from the policy", job.config.reference.model),
                         "the reference is kept beside the policy, weight by weight", "use a model of the same architecture");
    set_reference(std::move(loaded.weights));
  }
}

void Companions::set_reference(model::AlignedFloats weights) {
  reference_.reset();
  reference_weights_ = std::make_shared<model::AlignedFloats>(std::move(weights));
  ++reference_revision_;
  reference_.emplace(job_->store->config(), reference_weights_, PolicyVersion{0}, &job_->store->kernels());
}

bool Companions::takes_policy() const { return wants(column::reference_logprob) && !reference_weights_; }

void Companions::begin_training() {
  if (takes_policy()) set_reference(model::AlignedFloats(std::as_const(*job_->store).weights()));
}

bool Companions::changes_reference(std::uint64_t step) const {
  const auto& settings = job_->config.reference;
  return wants(column::reference_logprob) && (settings.decay < 1.0 || (settings.refresh_every > 0 && step % std::uint64_t(settings.refresh_every) == 0));
}

void Companions::after_step(std::uint64_t step) {
  if (!changes_reference(step)) return;
  const auto& settings = job_->config.reference;
  const auto policy = std::as_const(*job_->store).weights();
  if (settings.refresh_every > 0 && step % std::uint64_t(settings.refresh_every) == 0) {
    reference_.reset(), reference_weights_.reset();  // or two of them would be in memory
    return set_reference(model::AlignedFloats(policy));
  }
  const auto reference = reference_weights_->span();
  for (std::size_t i = 0; i < policy.size(); ++i) reference[i] = float(settings.decay * double(reference[i]) + (1.0 - settings.decay) * double(policy[i]));
  reference_.reset();
  reference_.emplace(job_->store->config(), reference_weights_, PolicyVersion{0}, &job_->store->kernels());
  ++reference_revision_;
}

std::vector<Companions::LeafColumns> Companions::over_leaves(std::size_t count,
                                                             const std::function<LeafColumns(model::LeafRunner& runner, std::size_t leaf)>& pass) {
  if (count == 0) return {};
  const auto mine = own_leaves(std::int64_t(count), *ranks_);
  std::vector<std::pair<std::int64_t, LeafColumns>> own(mine.size());
  job_->leaves->run(std::int64_t(mine.size()), [&](model::LeafRunner& runner, std::int64_t i) {
    if (job_->cut->wanted()) return;
    const std::int64_t leaf = mine[std::size_t(i)];
    own[std::size_t(i)] = {leaf, pass(runner, std::size_t(leaf))};
  });
  job_->cut->agree(*ranks_);
  std::vector<LeafColumns> all{count};
  for (const auto& bytes : ranks_->gather_all(to_bytes(own))) {
    for (auto& [leaf, columns] : from_bytes<std::vector<std::pair<std::int64_t, LeafColumns>>>(bytes)) all.at(std::size_t(leaf)) = std::move(columns);
  }
  return all;
}

void Companions::note_forward(const std::string& pass, const TrainBatch& train) {
  for (const auto& range : train.leaves) forward_tokens_[pass] += double(range.leaf.tokens.size());
}

void Companions::fill(StepBatch& batch, const std::vector<std::size_t>& groups, const std::vector<std::string>& names, const LeafPass& pass) {
  const auto train = make_train_batch(batch, groups, job_->config.train.leaf_tokens, job_->config.sampling.max_new_tokens);
  for (const auto& name : names) note_forward(name, train);
  const auto of_leaves = over_leaves(train.leaves.size(), [&](model::LeafRunner& runner, std::size_t i) { return pass(runner, train.leaves[i].leaf); });
  deal(batch, groups, of_leaves, tokens_of);
}

void Companions::add_gradient_cosines(StepBatch& batch) {
  const auto groups = indices(0, batch.groups.size());
  const auto train = make_train_batch(batch, groups, job_->config.train.leaf_tokens, job_->config.sampling.max_new_tokens);
  note_forward("gradients", train);
  const double temperature = temperature_of(job_->config.sampling);
  const auto of_leaves = over_leaves(train.leaves.size(), [&](model::LeafRunner& runner, std::size_t i) {
    const auto& range = train.leaves[i];
    const auto gradients = runner.logprob_gradients(job_->store->policy(), range.leaf, temperature);
    return LeafColumns{{column::gradient_cosine, gradient_cosines(range, gradients, train.columns.group)}};
  });
  deal(batch, groups, of_leaves, [](const Group& group) { return group.rollouts.size() * group.rollouts.size(); });
}

void Companions::add_missing_logprobs(StepBatch& batch) {
  const auto under_policy = [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    return runner.forward(job_->store->policy(), leaf, temperature_of(job_->config.sampling));
  };
  StepBatch experts;  // a group each, so that only their own tokens are run
  std::vector<Turn*> answers;
  for (auto& group : batch.groups) {
    if (group.rollouts.empty() || !is_expert(group.rollouts.back())) continue;
    experts.groups.push_back({group.id, group.level, {group.rollouts.back()}});
    experts.scores.push_back({Score{}});
    answers.push_back(&group.rollouts.back().turns.back());
  }
  fill(experts, indices(0, experts.groups.size()), {"experts"}, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    auto columns = under_policy(runner, leaf);
    return LeafColumns{{kLogprob, std::move(columns.logprob)}, {column::old_entropy, std::move(columns.entropy)}};
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i]->logprob = experts.columns.at(kLogprob)[i], answers[i]->entropy = experts.columns.at(column::old_entropy)[i];
  }
  if (job_->config.replay.old_policy != "current" || batch.replayed == 0) return;
  fill(batch, indices(fresh_groups(batch), batch.groups.size()), {"old_policy"}, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    return LeafColumns{{kProximalLogprob, under_policy(runner, leaf).logprob}};
  });
}

void Companions::add_step_columns(StepBatch& batch) {
  if (wants(column::gradient_cosine)) add_gradient_cosines(batch);
  const bool wide = wants(column::sum_squares) || wants(column::teacher_kl);
  if (!wide && !wants(column::reference_logprob) && !wants(column::teacher_logprob) && !value_head_) return;
  std::vector<std::string> names;
  if (wants(column::reference_logprob)) names.push_back("reference");
  for (const auto& name : wanted_)
    if (name.starts_with(column::flat_reference)) names.push_back("reference");
  if (wants(column::teacher_logprob)) names.push_back("teacher");
  if (wide) names.push_back("policy");
  if (wants(column::teacher_kl)) names.push_back("teacher");
  if (value_head_) names.push_back("critic");
  const double temperature = temperature_of(job_->config.sampling);
  fill(batch, indices(0, batch.groups.size()), names, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    LeafColumns out;
    if (wants(column::reference_logprob)) out[column::reference_logprob] = runner.forward(*reference_, leaf, temperature).logprob;
    for (const auto& name : wanted_) {  // a power of the probabilities, normalised, is a division of the temperature
      if (!name.starts_with(column::flat_reference)) continue;
      out[name] = runner.forward(*reference_, leaf, temperature / std::stod(name.substr(std::string_view(column::flat_reference).size()))).logprob;
    }
    if (wants(column::teacher_logprob)) out[column::teacher_logprob] = runner.forward(*teacher_, leaf, temperature).logprob;
    if (wide) {
      auto columns = runner.forward_wide(job_->store->policy(), wants(column::teacher_kl) ? &*teacher_ : nullptr, leaf, temperature);
      out[column::sum_squares] = std::move(columns.sum_squares);
      if (wants(column::teacher_kl)) out[column::teacher_kl] = std::move(columns.second_kl);
    }
    if (value_head_) {
      model::Leaf with_hidden = leaf;
      with_hidden.hidden = true;
      out[column::value] = value_head_->values(runner.forward(job_->store->policy(), with_hidden, temperature).hidden);
    }
    return out;
  });
}

std::map<std::string, double> Companions::add_probe_columns(StepBatch& batch, std::uint64_t step) {
  if (!wants(column::probe_confidence)) return {};
  const auto ends = step_ends(*job_, batch);
  const double temperature = temperature_of(job_->config.probes.temperature);
  StepBatch asked = reference_answers(*job_, batch, ends);
  fill(asked, indices(0, ends.size()), {"probes"}, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    return LeafColumns{{kLogprob, runner.forward(job_->store->policy(), leaf, temperature).logprob}};
  });
  std::vector<float> accuracy;
  for (const auto& logprobs : asked.columns[kLogprob]) {
    const auto probability = [](double sum, float logprob) { return sum + std::exp(double(logprob)); };
    accuracy.push_back(float(std::accumulate(logprobs.begin(), logprobs.end(), 0.0, probability) / double(logprobs.size())));
  }
  const auto confidence = probe_confidence(*job_, batch, ends, step, *ranks_);
  stages::add_probe_columns(batch, ends, accuracy, confidence);
  const auto mean = [](const std::vector<float>& of) { return std::accumulate(of.begin(), of.end(), 0.0) / double(std::max<std::size_t>(of.size(), 1)); };
  return {{"probes/steps", double(ends.size())}, {"probes/accuracy_mean", mean(accuracy)}, {"probes/confidence_mean", mean(confidence)}};
}

void Companions::add_current_columns(StepBatch& batch, const std::vector<std::size_t>& groups, bool stored) {
  if (!wants_current()) return;
  if (!stored) {
    fill(batch, groups, {"current"}, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
      auto columns = runner.forward(job_->store->policy(), leaf, temperature_of(job_->config.sampling));
      return LeafColumns{{column::current_logprob, std::move(columns.logprob)}, {column::current_entropy, std::move(columns.entropy)}};
    });
    return;
  }
  for (const auto* name : {column::current_logprob, column::current_entropy}) batch.columns[name].resize(batch.groups.size());
  for (const std::size_t g : groups) {
    auto &logprob = batch.columns[column::current_logprob][g], &entropy = batch.columns[column::current_entropy][g];
    logprob.clear(), entropy.clear();
    for (const auto& rollout : batch.groups[g].rollouts) {
      for (const auto& turn : rollout.turns) {
        logprob.insert(logprob.end(), turn.logprob.begin(), turn.logprob.end());
        entropy.insert(entropy.end(), turn.entropy.begin(), turn.entropy.end());
      }
    }
  }
}

void Companions::take_current(const StepBatch& batch, const std::vector<std::size_t>& groups, TrainBatch& train) const {
  expect(wants_current(), "current columns were asked for");
  const auto logprob = batch.columns.find(column::current_logprob), entropy = batch.columns.find(column::current_entropy);
  auto group = groups.begin();
  for (auto& range : train.leaves) {  // whole groups in order
    const std::size_t count = range.logprob.size();
    range.logprob.clear(), range.entropy.clear();
    for (; range.logprob.size() < count; ++group) {
      const auto append = [&](std::vector<float>& to, const std::vector<float>& of) { to.insert(to.end(), of.begin(), of.end()); };
      append(range.logprob, logprob->second[*group]), append(range.entropy, entropy->second[*group]);
    }
    expect(range.logprob.size() == count && range.entropy.size() == count, "leaves hold whole groups");
  }
}

std::vector<std::vector<float>> Companions::logprobs_now(StepBatch& batch) {
  fill(batch, indices(0, batch.groups.size()), {"drift"}, [&](model::LeafRunner& runner, const model::Leaf& leaf) {
    return LeafColumns{{kLogprob, runner.forward(job_->store->policy(), leaf, temperature_of(job_->config.sampling)).logprob}};
  });
  return std::move(batch.columns.at(kLogprob));
}

std::map<std::string, std::string> Companions::save() const {
  std::map<std::string, std::string> files;
  if (value_head_) files["critic.safetensors"] = value_head_->to_bytes();
  return files;
}

void Companions::restore(const io::StoredCheckpoint& checkpoint) {
  if (checkpoint.files().contains("reference.safetensors") && wants(column::reference_logprob)) {
    reference_.reset(), reference_weights_.reset();  // not two at a time
    set_reference(model::read_weights(job_->store->config(), checkpoint.verified("reference.safetensors")));
  } else if (job_->config.reference.model.empty()) {
    reference_.reset(), reference_weights_.reset();  // rolled back behind its beginning
  }
  if (checkpoint.files().contains("critic.safetensors") && value_head_)
    value_head_->restore(checkpoint.read("critic.safetensors"), checkpoint.name() + "/critic.safetensors");
}

}  // namespace rollcall::stages
