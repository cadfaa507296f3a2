// Finds values by group, and takes means in canonical order, so that all ranks get the same bits.
#include "run/step/group_training.hpp"

#include "base/errors/error.hpp"
#include "run/step/placed_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace rollcall::run {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The mean of the values in [first, last) that are not NaN; NaN if all are.
double mean_of_numbers(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (!std::isnan(values.at(i))) sum += values[i], ++count;
  }
  return count > 0 ? sum / double(count) : kUnknown;
}

/// The losses of rollouts in the order of columns: micro-batches have whole groups in order.
std::vector<double> rollout_losses(const std::vector<method::MicroBatchLoss>& micro_batches) {
  std::vector<double> all;
  for (const auto& micro_batch : micro_batches)
    all.insert(all.end(), micro_batch.rollout_loss.begin(), micro_batch.rollout_loss.end());
  return all;
}

}  // namespace

void decide(StepBatch& batch, const std::vector<scheduling::GroupTraining>& decided) {
  std::map<GroupId, const scheduling::GroupTraining*> of;
  for (const auto& group : decided) of[group.id] = &group;
  batch.training.clear();
  for (const Group& group : batch.groups) {
    const auto found = of.find(group.id);
    const auto& training = batch.training.emplace_back(
        found == of.end() ? scheduling::GroupTraining{.id = group.id} : *found->second);
    require<ProtocolError>(
        training.keep.size() <= group.rollouts.size(),
        fmt::format("the policy chooses among {} rollouts of prompt {}, but there are {}",
                    training.keep.size(), group.id.prompt.value, group.rollouts.size()),
        "the wrong rollouts would train", "report this as a bug in the policy");
  }
}

scheduling::GroupTraining recorded(const GroupId& id,
                                   const std::vector<io::RolloutTraining>& rollouts) {
  scheduling::GroupTraining training{.id = id};
  if (rollouts.empty()) return training;
  training.weight = rollouts.front().weight;
  for (const auto& rollout : rollouts)
    training.keep.push_back(rollout.left ? kLeaves : rollout.trained ? 1 : 0);
  return training;
}

void add_training(method::StepColumns& columns, const StepBatch& batch,
                  const std::vector<std::size_t>& groups) {
  if (batch.training.empty()) return;
  std::vector<double> weights, trains;
  for (const std::size_t g : groups) {
    const auto& [id, weight, keep] = batch.training[g];
    weights.push_back(weight);
    std::transform(keep.begin(), keep.end(), std::back_inserter(trains),
                   [](std::uint8_t k) { return k != 0 ? 1.0 : 0.0; });
    trains.insert(trains.end(), batch.groups[g].rollouts.size() - keep.size(), 1.0);
  }
  const auto departs = [](double value) { return value != 1.0; };
  if (std::any_of(weights.begin(), weights.end(), departs))
    columns.group_weight = std::move(weights);
  if (std::any_of(trains.begin(), trains.end(), departs)) columns.trains = std::move(trains);
}

void GroupSignals::add(const StepBatch& batch, const std::vector<std::size_t>& groups,
                       const std::vector<double>& advantages,
                       const std::vector<method::MicroBatchLoss>& losses) {
  const auto loss = rollout_losses(losses);
  expect(loss.size() == advantages.size(),
         "every rollout of the mini-batch has a loss and an advantage");
  std::size_t first = 0;
  for (const std::size_t g : groups) {
    const std::size_t last = first + batch.groups[g].rollouts.size();
    const GroupId& id = batch.groups[g].id;
    signals_.try_emplace(id, GroupSignal{id, mean_of_numbers(loss, first, last),
                                         mean_of_numbers(advantages, first, last), kUnknown});
    first = last;
  }
}

void GroupSignals::add_left_out(const StepBatch& batch, const std::vector<double>& advantages,
                                const std::vector<method::MicroBatchLoss>& losses) {
  auto loss = rollout_losses(losses);
  loss.resize(advantages.size(), kUnknown);
  std::size_t first = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    const std::size_t last = first + batch.groups[g].rollouts.size();
    const GroupId& id = batch.groups[g].id;
    if (trained_rollouts(batch, g) == 0)
      signals_.try_emplace(id, GroupSignal{id, mean_of_numbers(loss, first, last),
                                           mean_of_numbers(advantages, first, last), kUnknown});
    first = last;
  }
}

void GroupSignals::note_drift(const StepBatch& batch, const std::vector<double>& drift) {
  for (std::size_t g = 0; g < drift.size(); ++g) drift_[batch.groups.at(g).id] = drift[g];
}

std::vector<GroupSignal> GroupSignals::take() {
  for (const auto& [id, drift] : drift_)
    signals_.try_emplace(id, GroupSignal{id, kUnknown, kUnknown, kUnknown}).first->second.drift =
        drift;
  std::vector<GroupSignal> all;
  for (const auto& [id, signal] : signals_) all.push_back(signal);
  signals_.clear(), drift_.clear();
  return all;
}

void fill_reports(std::vector<GroupReport>& reports, const std::vector<GroupSignal>& signals) {
  for (auto& report : reports) {
    const auto found =
        std::lower_bound(signals.begin(), signals.end(), report.id,
                         [](const GroupSignal& s, const GroupId& id) { return s.id < id; });
    if (found == signals.end() || found->id != report.id) continue;
    report.loss = found->loss, report.mean_abs_advantage = found->mean_abs_advantage,
    report.drift = found->drift;
  }
}

}  // namespace rollcall::run
