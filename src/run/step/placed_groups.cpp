// Takes derived groups in ascending order, moves the rollouts that train in the group of the
// parent, and then sorts the groups that have changed.
#include "run/step/placed_groups.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

/// Puts a rollout after the prompt of a different rollout.
void put_behind(const Turn& prompt, Rollout& rollout) {
  rollout.turns.front() = prompt;
  rollout.facts.resize(rollout.turns.size());
  for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
    Turn& turn = rollout.turns[t];
    if (turn.role != Role::policy) continue;
    rollout.facts[t].flags |= turn_flag::moved;
    turn.columns.logprob.assign(turn.tokens.size(), 0.0F);
    turn.columns.entropy.assign(turn.tokens.size(), 0.0F);
    turn.kept_mass.clear(), turn.kept = {};  // they belong to the softmax after the other prompt
  }
}

class Placing {
 public:
  Placing(StepBatch& batch, TrainedOn behind) : batch_(&batch), behind_(behind) {
    for (std::size_t g = 0; g < batch.groups.size(); ++g)
      if (is_plain(batch.groups[g].from)) plain_[batch.groups[g].id] = g;
    if (batch.training.empty())
      for (const Group& group : batch.groups) batch.training.push_back({.id = group.id});
  }

  std::size_t run() {
    for (std::size_t g = 0; g < batch_->groups.size(); ++g) {
      const Derivation from = batch_->groups[g].from;
      if (is_plain(from)) continue;
      if (from.placement == Placement::trains_nowhere) keep_of(g).assign(count(g), kLeaves);
      const auto parent = plain_.find(from.parent);
      if (from.placement == Placement::own_group || parent == plain_.end()) continue;
      move(g, parent->second);
    }
    for (std::size_t g = 0; g < batch_->groups.size(); ++g) let_leave(g);
    for (const std::size_t g : changed_) sort_samples(g);
    drop_empty();
    return moved_;
  }

 private:
  std::size_t count(std::size_t g) const { return batch_->groups[g].rollouts.size(); }
  /// GroupTraining::keep with a value for each rollout.
  std::vector<std::uint8_t>& keep_of(std::size_t g) {
    auto& keep = batch_->training[g].keep;
    keep.resize(count(g), 1);
    return keep;
  }

  /// Moves the rollouts that count to the group of the parent. Rollouts that leave the step stay in
  /// their group.
  void move(std::size_t g, std::size_t parent) {
    Group &from = batch_->groups[g], &to = batch_->groups[parent];
    auto &own = keep_of(g), &keep = keep_of(parent);
    const bool behind_parent =
        behind_ == TrainedOn::parent && from.from.kind != DerivedKind::hint && !to.rollouts.empty();
    std::optional<Turn> prompt;
    if (behind_parent) prompt = to.rollouts.front().turns.front();
    std::size_t left = 0;
    for (std::size_t i = 0; i < from.rollouts.size(); ++i) {
      if (own[i] == kLeaves) {
        if (left != i) {
          from.rollouts[left] = std::move(from.rollouts[i]);
          batch_->scores[g][left] = std::move(batch_->scores[g][i]);
        }
        ++left;
        continue;
      }
      Rollout& rollout = from.rollouts[i];
      rollout.placed = from.id, rollout.placed_from = from.from;
      if (prompt) put_behind(*prompt, rollout);
      to.rollouts.push_back(std::move(rollout));
      batch_->scores[parent].push_back(std::move(batch_->scores[g][i]));
      keep.push_back(own[i]);
      ++moved_;
    }
    from.rollouts.resize(left), batch_->scores[g].resize(left);
    own.assign(left, kLeaves);
    changed_.insert(parent);
  }

  void let_leave(std::size_t g) {
    Group& group = batch_->groups[g];
    auto& scores = batch_->scores[g];
    auto& keep = batch_->training[g].keep;
    if (std::find(keep.begin(), keep.end(), kLeaves) == keep.end()) return;
    keep.resize(count(g), 1);
    std::size_t stay = 0;
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      if (keep[i] == kLeaves) {
        batch_->left.emplace_back(group.id, group.rollouts[i].sample);
        continue;
      }
      if (stay != i) {
        group.rollouts[stay] = std::move(group.rollouts[i]);
        scores[stay] = std::move(scores[i]);
        keep[stay] = keep[i];
      }
      ++stay;
    }
    group.rollouts.resize(stay), scores.resize(stay), keep.resize(stay);
  }

  void sort_samples(std::size_t g) {
    auto& rollouts = batch_->groups[g].rollouts;
    auto& scores = batch_->scores[g];
    auto& keep = batch_->training[g].keep;
    std::vector<std::size_t> order(rollouts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rollouts[a].sample < rollouts[b].sample;
    });
    std::vector<Rollout> sorted;
    std::vector<Score> their_scores;
    std::vector<std::uint8_t> kept;
    for (const std::size_t i : order) {
      require<ProtocolError>(
          sorted.empty() || sorted.back().sample != rollouts[i].sample,
          "two rollouts of a group have the same sample number once derived groups are placed",
          "one of them would train twice", "report this as a bug");
      sorted.push_back(std::move(rollouts[i]));
      their_scores.push_back(std::move(scores[i]));
      kept.push_back(keep[i]);
    }
    rollouts = std::move(sorted), scores = std::move(their_scores), keep = std::move(kept);
  }

  void drop_empty() {
    std::size_t stay = 0;
    for (std::size_t g = 0; g < batch_->groups.size(); ++g) {
      if (count(g) == 0) continue;
      if (stay != g) {
        batch_->groups[stay] = std::move(batch_->groups[g]);
        batch_->scores[stay] = std::move(batch_->scores[g]);
        batch_->training[stay] = std::move(batch_->training[g]);
      }
      ++stay;
    }
    batch_->groups.resize(stay), batch_->scores.resize(stay), batch_->training.resize(stay);
  }

  StepBatch* batch_;
  TrainedOn behind_;
  std::map<GroupId, std::size_t> plain_;  ///< index of each group that is not derived
  std::set<std::size_t> changed_;         ///< indices of groups that got rollouts
  std::size_t moved_ = 0;
};

}  // namespace

TrainedOn trained_on(const RunConfig& config) {
  return config.second_pass.trained_on == "parent" ? TrainedOn::parent : TrainedOn::asked;
}

std::size_t place_derived(StepBatch& batch, TrainedOn behind) {
  expect(batch.replayed == 0, "derived groups are placed before earlier ones are added");
  const bool derived = std::any_of(batch.groups.begin(), batch.groups.end(),
                                   [](const Group& group) { return !is_plain(group.from); });
  const bool leaves =
      std::any_of(batch.training.begin(), batch.training.end(), [](const auto& training) {
        return std::find(training.keep.begin(), training.keep.end(), kLeaves) !=
               training.keep.end();
      });
  if (!derived && !leaves) return 0;
  return Placing(batch, behind).run();
}

bool is_moved(const Rollout& rollout) {
  return std::any_of(rollout.facts.begin(), rollout.facts.end(),
                     [](const TurnFacts& facts) { return (facts.flags & turn_flag::moved) != 0; });
}

}  // namespace rollcall::run
