// Forward passes over micro-batches, which are distributed to the update ranks. Every rank gets all
// columns.
#include "run/update/auxiliary_models.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "method/columns.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/checkpoint/part.hpp"
#include "run/context/column_sources.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/step/placed_groups.hpp"
#include "run/update/gradient_cosines.hpp"
#include "run/update/recontext/probes.hpp"
#include "run/update/recontext/recontext.hpp"
#include "run/update/temperature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace rollcall::run {
namespace {

namespace column = method::column;

bool has(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr const char* kLogprob = "logprob";

std::vector<std::size_t> indices(std::size_t first, std::size_t last) {
  std::vector<std::size_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::size_t tokens_of(const Group& group) {
  std::size_t count = 0;
  for (const auto& rollout : group.rollouts)
    for (const auto& turn : rollout.turns) count += turn.columns.logprob.size();
  return count;
}

/// Writes the columns of micro-batches into the columns of `batch`. Micro-batches have whole groups
/// in the order of `groups`, so that length_of(group) numbers belong to each group in turn.
void deal(StepBatch& batch, const std::vector<std::size_t>& groups,
          const std::vector<std::map<std::string, std::vector<float>>>& of_micro_batches,
          const std::function<std::size_t(const Group&)>& length_of) {
  std::size_t micro_batch = 0, at = 0;
  for (const std::size_t g : groups) {
    const std::size_t length = length_of(batch.groups[g]);
    if (length == 0) continue;
    while (at == of_micro_batches.at(micro_batch).begin()->second.size()) ++micro_batch, at = 0;
    for (const auto& [name, values] : of_micro_batches[micro_batch]) {
      auto& column = batch.columns[name];
      column.resize(batch.groups.size());
      column[g].assign(values.begin() + std::ptrdiff_t(at),
                       values.begin() + std::ptrdiff_t(at + length));
    }
    at += length;
  }
}

bool has_given(const Rollout& rollout) {
  for (std::size_t t = 0; t < rollout.facts.size(); ++t)
    if (was_given(rollout, t)) return true;
  return false;
}

/// The rollouts that train after a prompt different from the one they were asked, or with a
/// beginning that was not sampled. `alone`: each of them in a separate group, so that no other
/// tokens are computed.
std::vector<Rollout*> unmeasured_rollouts(StepBatch& batch, StepBatch& alone) {
  std::vector<Rollout*> rollouts;
  for (auto& group : batch.groups)
    for (Rollout& rollout : group.rollouts) {
      if (!is_moved(rollout) && !has_given(rollout)) continue;
      alone.groups.push_back({group.id, group.level, {rollout}});
      alone.scores.push_back({Score{}});
      rollouts.push_back(&rollout);
    }
  return rollouts;
}

/// Writes the columns of `alone` into the turns of its rollouts that were not sampled in the
/// context in which they train.
void put_logprobs(const StepBatch& alone, const std::vector<Rollout*>& rollouts) {
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    auto logprob = alone.columns.at(kLogprob)[i].begin();
    auto entropy = alone.columns.at(column::old_entropy)[i].begin();
    for (std::size_t t = 0; t < rollouts[i]->turns.size(); ++t) {
      auto& columns = rollouts[i]->turns[t].columns;
      const auto count = std::ptrdiff_t(columns.logprob.size());
      if (is_moved(*rollouts[i]) || was_given(*rollouts[i], t)) {
        columns.logprob.assign(logprob, logprob + count);
        columns.entropy.assign(entropy, entropy + count);
      }
      logprob += count, entropy += count;
    }
  }
}

}  // namespace

void check_companions(const RunConfig& config, const method::Objective& objective, Faults& faults) {
  const auto columns = objective.columns();
  const auto& recipe = config.objective.recipe;
  for (const auto& name : columns)
    faults.need({"objective.recipe", "objective."}, is_provided(name),
                fmt::format("objective.recipe {} reads the column {}, which no stage provides",
                            recipe, name),
                "the loss cannot be computed without it",
                "choose another recipe or replace the piece that reads it");
  for (const auto& knob : objective.unset())
    faults.need({"objective.knobs", "objective."}, false,
                fmt::format("objective.recipe {} requires {}, which is not set", recipe, knob),
                "no default can be meant, and a run without it would train something else",
                "set it under objective.knobs");
  const bool follows = has(columns, column::teacher_logprob) || has(columns, column::teacher_kl);
  faults.need(
      {"teacher.model", "objective."}, !follows || !config.teacher.model.empty(),
      fmt::format("objective.recipe {} follows a teacher, but teacher.model is empty", recipe),
      "there is nothing to distil from", "set teacher.model to a model folder");
}

void check_predictions(const RunConfig& config, const std::vector<Prompt>& prompts,
                       const method::Objective& objective) {
  require<ConfigError>(
      !has(objective.columns(), column::predicted) ||
          std::none_of(prompts.begin(), prompts.end(),
                       [](const Prompt& p) { return std::isnan(p.prior); }),
      fmt::format(
          "objective.recipe {} requires a value model's prediction for every prompt, which this run does not provide",
          config.objective.recipe),
      "the prediction is its baseline",
      "name the key of the question file that holds it in task.fields.prior; the tracked success stands in where objective.knobs says so "
      "(rollcall recipes NAME)");
}

AuxiliaryModels::AuxiliaryModels(RunContext& context, const method::Objective& objective,
                                 comm::Communicator& ranks)
    : context_(&context), ranks_(&ranks) {
  Faults faults;
  check_companions(context.config, objective, faults);
  faults.check({},
               [&] { check_predictions(context.config, context.texts.prompts.train, objective); });
  faults.require_none();
  for (const auto& name : objective.columns()) {
    if (name.starts_with(column::draw_hits)) {
      const std::string numbers = name.substr(std::string_view(column::draw_hits).size());
      draws_ = {name, std::stoll(numbers), std::stod(numbers.substr(numbers.find('/') + 1))};
      require<ConfigError>(
          !context.store->on_device(),
          fmt::format("objective.recipe {} draws tokens, and run.numerics is {}",
                      context.config.objective.recipe, context.config.run.numerics),
          "passes of CUDA devices over leaves draw nothing",
          "choose numerics of the host, or set the objective's knob draws to 0");
    }
    wanted_.insert(name);
  }
  if (objective.needs_value()) wanted_.insert(column::value);
  if (wants(column::value)) value_head_.emplace(context.store->config().hidden_size);
  if (wants(column::teacher_logprob) || wants(column::teacher_kl)) {
    teacher_.emplace(read_policy(context.config.teacher.model, *context.store, "teacher.model"));
  }
  if (wants(column::reference_logprob)) reference_.emplace(context.config, *context.store);
}

std::vector<AuxiliaryModels::MicroBatchColumns> AuxiliaryModels::over_micro_batches(
    std::size_t count, const std::function<MicroBatchColumns(model::MicroBatchRunner& runner,
                                                             std::size_t micro_batch)>& pass) {
  if (count == 0) return {};
  const auto mine = own_micro_batches(std::int64_t(count), *ranks_);
  std::vector<std::pair<std::int64_t, MicroBatchColumns>> own(mine.size());
  context_->threads.micro_batches->run(
      std::int64_t(mine.size()), [&](model::MicroBatchRunner& runner, std::int64_t i) {
        if (context_->threads.cut->wanted()) return;
        const std::int64_t micro_batch = mine[std::size_t(i)];
        own[std::size_t(i)] = {micro_batch, pass(runner, std::size_t(micro_batch))};
      });
  context_->threads.cut->agree(*ranks_);
  std::vector<MicroBatchColumns> all{count};
  for (const auto& bytes : ranks_->gather_all(to_bytes(own))) {
    for (auto& [micro_batch, columns] :
         from_bytes<std::vector<std::pair<std::int64_t, MicroBatchColumns>>>(bytes))
      all.at(std::size_t(micro_batch)) = std::move(columns);
  }
  return all;
}

void AuxiliaryModels::note_forward(const std::string& pass, const TrainBatch& train) {
  for (const auto& range : train.micro_batches)
    forward_tokens_[pass] += double(range.micro_batch.tokens.size());
}

void AuxiliaryModels::fill(StepBatch& batch, const std::vector<std::size_t>& groups,
                           const std::vector<std::string>& names, const MicroBatchPass& pass) {
  const auto train = make_train_batch(batch, groups, context_->config.train.micro_batch_tokens,
                                      context_->config.sampling.max_new_tokens);
  for (const auto& name : names) note_forward(name, train);
  const auto of_micro_batches = over_micro_batches(
      train.micro_batches.size(), [&](model::MicroBatchRunner& runner, std::size_t i) {
        return pass(runner, train.micro_batches[i].micro_batch);
      });
  deal(batch, groups, of_micro_batches, tokens_of);
}

void AuxiliaryModels::add_gradient_cosines(StepBatch& batch) {
  const auto groups = indices(0, batch.groups.size());
  const auto train = make_train_batch(batch, groups, context_->config.train.micro_batch_tokens,
                                      context_->config.sampling.max_new_tokens);
  note_forward("gradients", train);
  const double temperature = temperature_of(context_->config.sampling);
  const auto of_micro_batches = over_micro_batches(
      train.micro_batches.size(), [&](model::MicroBatchRunner& runner, std::size_t i) {
        const auto& range = train.micro_batches[i];
        const auto gradients =
            runner.logprob_gradients(context_->store->policy(), range.micro_batch, temperature);
        return MicroBatchColumns{
            {column::gradient_cosine, gradient_cosines(range, gradients, train.columns.group)}};
      });
  deal(batch, groups, of_micro_batches,
       [](const Group& group) { return group.rollouts.size() * group.rollouts.size(); });
}

void AuxiliaryModels::add_draws(StepBatch& batch, const StepBatch& experts,
                                const std::vector<Turn*>& answers) {
  const auto train = make_train_batch(experts, indices(0, experts.groups.size()),
                                      context_->config.train.micro_batch_tokens,
                                      context_->config.sampling.max_new_tokens);
  note_forward("draws", train);
  const double temperature = temperature_of(context_->config.sampling);
  // Lists of ids travel as columns: the count for each place, then all ids and their shares. A
  // float holds an id exactly, since ids are below 2^24.
  const auto of_micro_batches = over_micro_batches(
      train.micro_batches.size(), [&](model::MicroBatchRunner& runner, std::size_t i) {
        const auto& range = train.micro_batches[i];
        // [targets] the random stream of each target, and the target's position in that stream
        std::vector<std::pair<RandomStream, std::uint64_t>> places;
        for (const std::int64_t g : range.rollouts) {  // a group has one rollout
          const GroupId& id = experts.groups[std::size_t(g)].id;
          const RandomStream stream(std::uint64_t(context_->config.run.seed),
                                    RandomPurpose::token_draws, id.step, id.prompt.value, id.draw);
          const auto count =
              std::uint64_t(policy_tokens(experts.groups[std::size_t(g)].rollouts.front()));
          for (std::uint64_t t = 0; t < count; ++t)
            places.emplace_back(stream, t * std::uint64_t(draws_->count));
        }
        const model::TargetDrawing drawing{
            draws_->count, temperature * draws_->temperature, context_->config.sampling.vocab_size,
            [&](std::size_t target, std::int64_t draw) {
              return places[target].first.uniform(places[target].second + std::uint64_t(draw));
            }};
        auto drawn =
            runner.draw_targets(context_->store->policy(), range.micro_batch, temperature, drawing);
        MicroBatchColumns out{{"hits", std::move(drawn.hits)},
                              {"sums", std::move(drawn.columns.miss_logprob)},
                              {"shares", std::move(drawn.missed.share)}};
        for (std::size_t target = 0; target < places.size(); ++target)
          out["counts"].push_back(float(drawn.missed.of(target).id.size()));
        out["ids"].assign(drawn.missed.id.begin(), drawn.missed.id.end());
        return out;
      });
  auto& hits = batch.columns[draws_->column];
  hits.resize(batch.groups.size());
  for (std::size_t g = 0; g < batch.groups.size(); ++g)
    hits[g].assign(tokens_of(batch.groups[g]), 0.0F);
  std::size_t micro_batch = 0, place = 0, list = 0, expert = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    if (batch.groups[g].rollouts.empty() || !is_expert(batch.groups[g].rollouts.back())) continue;
    Turn& answer = *answers[expert++];
    const std::size_t count = answer.tokens.size();
    if (place == of_micro_batches.at(micro_batch).at("hits").size())
      ++micro_batch, place = 0, list = 0;
    const auto& columns = of_micro_batches.at(micro_batch);
    for (std::size_t t = 0; t < count; ++t, ++place) {
      const auto length = std::size_t(columns.at("counts")[place]);
      const auto first = columns.at("ids").begin() + std::ptrdiff_t(list);
      const std::vector<std::int32_t> ids(first, first + std::ptrdiff_t(length));
      answer.missed.put(t, {ids, std::span(columns.at("shares")).subspan(list, length)});
      list += length;
      hits[g][hits[g].size() - count + t] = columns.at("hits")[place];
      answer.columns.miss_logprob.push_back(columns.at("sums")[place]);
    }
  }
}

void AuxiliaryModels::add_missing_logprobs(StepBatch& batch) {
  const auto under_policy = [&](model::MicroBatchRunner& runner,
                                const model::MicroBatch& micro_batch) {
    return runner.forward(context_->store->policy(), micro_batch,
                          temperature_of(context_->config.sampling));
  };
  StepBatch experts;  // each expert's rollout in a separate group, so that no other tokens are
                      // computed
  std::vector<Turn*> answers;
  for (auto& group : batch.groups) {
    if (group.rollouts.empty() || !is_expert(group.rollouts.back())) continue;
    experts.groups.push_back({group.id, group.level, {group.rollouts.back()}});
    experts.scores.push_back({Score{}});
    answers.push_back(&group.rollouts.back().turns.back());
  }
  const auto compute = [&](StepBatch& rollouts, const char* name) {
    fill(rollouts, indices(0, rollouts.groups.size()), {name},
         [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
           auto columns = under_policy(runner, micro_batch);
           return MicroBatchColumns{{kLogprob, std::move(columns.logprob)},
                                    {column::old_entropy, std::move(columns.entropy)}};
         });
  };
  compute(experts, "experts");
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i]->columns.logprob = experts.columns.at(kLogprob)[i],
    answers[i]->columns.entropy = experts.columns.at(column::old_entropy)[i];
  }
  if (draws_) add_draws(batch, experts, answers);
  StepBatch alone;
  const std::vector<Rollout*> unmeasured = unmeasured_rollouts(batch, alone);
  if (!unmeasured.empty()) {
    compute(alone, "moved");
    put_logprobs(alone, unmeasured);
  }
  if (context_->config.replay.old_policy != "current" || batch.replayed == 0) return;
  fill(batch, indices(fresh_groups(batch), batch.groups.size()), {"old_policy"},
       [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
         return MicroBatchColumns{{kProximalLogprob, under_policy(runner, micro_batch).logprob}};
       });
}

void AuxiliaryModels::add_step_columns(StepBatch& batch) {
  if (wants(column::gradient_cosine)) add_gradient_cosines(batch);
  const bool wide = wants(column::sum_squares) || wants(column::teacher_kl);
  if (!wide && !wants(column::reference_logprob) && !wants(column::teacher_logprob) && !value_head_)
    return;
  std::vector<std::string> names;
  if (wants(column::reference_logprob)) names.push_back("reference");
  for (const auto& name : wanted_)
    if (name.starts_with(column::flat_reference)) names.push_back("reference");
  if (wants(column::teacher_logprob)) names.push_back("teacher");
  if (wide) names.push_back("policy");
  if (wants(column::teacher_kl)) names.push_back("teacher");
  if (value_head_) names.push_back("critic");
  const double temperature = temperature_of(context_->config.sampling);
  fill(batch, indices(0, batch.groups.size()), names,
       [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
         MicroBatchColumns out;
         if (wants(column::reference_logprob))
           out[column::reference_logprob] =
               runner.forward(reference_->model(), micro_batch, temperature).logprob;
         for (const auto& name : wanted_) {  // a power of probabilities, normalised, equals a
                                             // divided temperature
           if (!name.starts_with(column::flat_reference)) continue;
           out[name] =
               runner
                   .forward(reference_->model(), micro_batch,
                            temperature / std::stod(name.substr(
                                              std::string_view(column::flat_reference).size())))
                   .logprob;
         }
         if (wants(column::teacher_logprob))
           out[column::teacher_logprob] =
               runner.forward(*teacher_, micro_batch, temperature).logprob;
         if (wide) {
           auto columns = runner.forward_full_vocab(
               context_->store->policy(), wants(column::teacher_kl) ? &*teacher_ : nullptr,
               micro_batch, temperature);
           out[column::sum_squares] = std::move(columns.sum_squares);
           if (wants(column::teacher_kl)) out[column::teacher_kl] = std::move(columns.second_kl);
         }
         if (value_head_) {
           model::MicroBatch with_hidden = micro_batch;
           with_hidden.hidden = true;
           out[column::value] = value_head_->values(
               runner.forward(context_->store->policy(), with_hidden, temperature).hidden);
         }
         return out;
       });
}

std::map<std::string, double> AuxiliaryModels::add_asked_columns(StepBatch& batch,
                                                                 std::uint64_t step) {
  const auto ask = [&](std::span<const Recontext> questions, const char* pass, double temperature) {
    StepBatch asked = as_batch(questions, batch);
    fill(asked, indices(0, questions.size()), {pass},
         [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
           return MicroBatchColumns{
               {kLogprob,
                runner.forward(context_->store->policy(), micro_batch, temperature).logprob}};
         });
    return std::move(asked.columns[kLogprob]);
  };
  const bool before = wants(column::gold_logprob_before);
  for (const auto& name : recontext_columns()) {
    if (!wants(name) && !(before && name == column::gold_logprob)) continue;
    const auto questions = questions_of(name, context_->config, context_->texts, batch);
    add_recontext_column(batch, name, questions,
                         ask(questions, "recontext", temperature_of(context_->config.sampling)));
  }
  if (!wants(column::probe_confidence)) return {};
  const auto ends = step_ends(*context_->texts.tokenizer, context_->config.probes.delimiter, batch);
  const auto questions =
      reference_questions(context_->texts, context_->config.probes.opener, batch, ends);
  std::vector<float> accuracy;
  for (const auto& logprobs :
       ask(questions, "probes", temperature_of(context_->config.probes.temperature))) {
    const auto probability = [](double sum, float logprob) {
      return sum + std::exp(double(logprob));
    };
    accuracy.push_back(float(std::accumulate(logprobs.begin(), logprobs.end(), 0.0, probability) /
                             double(logprobs.size())));
  }
  const auto confidence = probe_confidence(*context_, batch, ends, step, *ranks_);
  run::add_probe_columns(batch, ends, accuracy, confidence);
  const auto mean = [](const std::vector<float>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / double(std::max<std::size_t>(of.size(), 1));
  };
  return {{"probes/steps", double(ends.size())},
          {"probes/accuracy_mean", mean(accuracy)},
          {"probes/confidence_mean", mean(confidence)}};
}

void AuxiliaryModels::add_current_columns(StepBatch& batch, const std::vector<std::size_t>& groups,
                                          bool stored) {
  if (!wants_current()) return;
  if (!stored) {
    fill(batch, groups, {"current"},
         [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
           auto columns = runner.forward(context_->store->policy(), micro_batch,
                                         temperature_of(context_->config.sampling));
           return MicroBatchColumns{{column::current_logprob, std::move(columns.logprob)},
                                    {column::current_entropy, std::move(columns.entropy)}};
         });
    return;
  }
  for (const auto* name : {column::current_logprob, column::current_entropy})
    batch.columns[name].resize(batch.groups.size());
  for (const std::size_t g : groups) {
    auto &logprob = batch.columns[column::current_logprob][g],
         &entropy = batch.columns[column::current_entropy][g];
    logprob.clear(), entropy.clear();
    for (const auto& rollout : batch.groups[g].rollouts) {
      for (const auto& turn : rollout.turns) {
        logprob.insert(logprob.end(), turn.columns.logprob.begin(), turn.columns.logprob.end());
        entropy.insert(entropy.end(), turn.columns.entropy.begin(), turn.columns.entropy.end());
      }
    }
  }
}

void AuxiliaryModels::take_current(const StepBatch& batch, const std::vector<std::size_t>& groups,
                                   TrainBatch& train) const {
  expect(wants_current(), "current columns were asked for");
  const auto logprob = batch.columns.find(column::current_logprob),
             entropy = batch.columns.find(column::current_entropy);
  auto group = groups.begin();
  for (auto& range : train.micro_batches) {  // whole groups in order
    const std::size_t count = range.stored.logprob.size();
    range.stored.logprob.clear(), range.stored.entropy.clear();
    for (; range.stored.logprob.size() < count; ++group) {
      const auto append = [&](std::vector<float>& to, const std::vector<float>& of) {
        to.insert(to.end(), of.begin(), of.end());
      };
      append(range.stored.logprob, logprob->second[*group]),
          append(range.stored.entropy, entropy->second[*group]);
    }
    expect(range.stored.logprob.size() == count && range.stored.entropy.size() == count,
           "leaves hold whole groups");
  }
}

std::vector<std::vector<float>> AuxiliaryModels::logprobs_now(StepBatch& batch) {
  fill(batch, indices(0, batch.groups.size()), {"drift"},
       [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
         return MicroBatchColumns{{kLogprob, runner
                                                 .forward(context_->store->policy(), micro_batch,
                                                          temperature_of(context_->config.sampling))
                                                 .logprob}};
       });
  return std::move(batch.columns.at(kLogprob));
}

void AuxiliaryModels::add_value_head(io::CheckpointShare& share) const {
  if (value_head_)
    share.files[file_of(Part::value_head)] = [bytes = value_head_->to_bytes()] { return bytes; };
}

void AuxiliaryModels::restore_value_head(const io::StoredCheckpoint& checkpoint) {
  const std::string file = file_of(Part::value_head);
  if (checkpoint.files().contains(file) && value_head_)
    value_head_->restore(checkpoint.read(file), checkpoint.name() + "/" + file);
}

}  // namespace rollcall::run
