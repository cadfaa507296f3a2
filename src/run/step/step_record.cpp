// Finds the sampled rollouts, by group and sample number, in the step as it trains.
#include "run/step/step_record.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace rollcall::run {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::size_t rollouts_of(const StepBatch& batch, const std::vector<std::size_t>& groups) {
  return std::accumulate(
      groups.begin(), groups.end(), std::size_t{0},
      [&](std::size_t sum, std::size_t g) { return sum + batch.groups[g].rollouts.size(); });
}

}  // namespace

StepRecord::StepRecord(std::uint64_t step, const StepBatch& sampled) : step_(step) {
  for (const Group& group : sampled.groups) {
    Group& keys = groups_.emplace_back(Group{.id = group.id, .rollouts = {}});
    for (const Rollout& rollout : group.rollouts)
      keys.rollouts.push_back({.sample = rollout.sample, .turns = {}, .text = {}});
  }
}

io::StepTraining StepRecord::of(const StepBatch& batch,
                                const std::vector<double>& advantage) const {
  /// A rollout of the batch, by the group in which it was sampled.
  struct Place {
    std::size_t group, index, at;  ///< its group in the batch, its index there and in `advantage`
  };
  std::map<GroupId, std::vector<Place>> places;
  std::map<GroupId, double> weights;
  std::size_t rollouts = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    const Group& group = batch.groups[g];
    const bool own = g < fresh_groups(batch);
    if (own && !batch.training.empty()) weights[group.id] = batch.training[g].weight;
    for (std::size_t i = 0; i < group.rollouts.size(); ++i, ++rollouts)
      if (own) places[sampled_in(group, group.rollouts[i])].push_back({g, i, rollouts});
  }
  expect(rollouts == advantage.size(), "every rollout has an advantage, or NaN");
  const std::set<std::pair<GroupId, std::uint32_t>> left(batch.left.begin(), batch.left.end());
  io::StepTraining step{.step = step_};
  for (const Group& keys : groups_) {
    std::vector<io::RolloutTraining> all(keys.rollouts.size(),
                                         {.trained = false, .weight = 1.0, .advantage = kNone});
    if (const auto known = weights.find(keys.id); known != weights.end())
      for (auto& each : all) each.weight = known->second;
    const auto found = places.find(keys.id);
    std::size_t next = 0;  // index of the next rollout in the batch; samples ascend in both
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t sample = keys.rollouts[i].sample;
      all[i].left = !left.empty() && left.contains({keys.id, sample});
      // A sampled rollout that is not in the batch has left the step, mostly without a verdict.
      if (found == places.end() || next == found->second.size()) continue;
      const auto& [g, index, at] = found->second[next];
      if (batch.groups[g].rollouts[index].sample != sample) continue;
      const auto* training = batch.training.empty() ? nullptr : &batch.training[g];
      all[i].trained =
          training == nullptr || index >= training->keep.size() || training->keep[index] != 0;
      if (training != nullptr) all[i].weight = training->weight;
      all[i].advantage = advantage[at];
      ++next;
    }
    append(keys, all, step);
  }
  return step;
}

std::vector<double> shared_advantages(const StepBatch& batch,
                                      const std::vector<std::size_t>& groups,
                                      const std::vector<double>& by_token) {
  std::vector<double> shared;
  auto at = by_token.begin();
  for (const std::size_t g : groups)
    for (const Rollout& rollout : batch.groups[g].rollouts) {
      const auto end = at + policy_tokens(rollout);
      // NaN if nothing in its group trains.
      const auto same = [&](double value) {
        return value == *at || (std::isnan(value) && std::isnan(*at));
      };
      const bool differ = !std::all_of(at, end, same);
      if (differ) return std::vector<double>(rollouts_of(batch, groups), kNone);
      shared.push_back(at == end ? kNone : *at);
      at = end;
    }
  expect(at == by_token.end(), "every policy token has an advantage");
  return shared;
}

void put_advantages(const StepBatch& batch, const std::vector<std::size_t>& groups,
                    const std::vector<double>& of_groups, std::vector<double>& all) {
  auto from = of_groups.begin();
  auto wanted = groups.begin();
  auto to = all.begin();
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    const auto rollouts = std::ptrdiff_t(batch.groups[g].rollouts.size());
    if (wanted != groups.end() && *wanted == g)
      std::copy(from, from + rollouts, to), from += rollouts, ++wanted;
    to += rollouts;
  }
}

}  // namespace rollcall::run
