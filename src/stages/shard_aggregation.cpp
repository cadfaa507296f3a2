// Parts on their way, and the whole that they become.
#include "stages/shard_aggregation.hpp"

#include "base/error.hpp"
#include "reward/verifier.hpp"
#include "stages/step_wire.hpp"
#include "task/task.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall::stages {
namespace {

/// A part of the whole: groups behind its groups, and what is known of either.
void append(JudgedShard& whole, JudgedShard part) {
  expect(part.notice.aggregated == whole.notice.aggregated && part.notice.judge_tasks.empty(), "the parts of a file are of one round, without judge tasks");
  whole.notice.generation_s.merge(part.notice.generation_s);
  if (part.notice.cut || whole.notice.cut) {
    whole.notice.cut = true;
    return;
  }
  expect(part.shard.policy == whole.shard.policy && part.scores.component_names == whole.scores.component_names, "and of one policy and verifier");
  std::move(part.shard.groups.begin(), part.shard.groups.end(), std::back_inserter(whole.shard.groups));
  std::move(part.scores.scores.begin(), part.scores.scores.end(), std::back_inserter(whole.scores.scores));
  add(whole.facts, part.facts);
  whole.notice.archive_s = std::max(whole.notice.archive_s, part.notice.archive_s);
  whole.read_s += part.read_s, whole.scoring_s = std::max(whole.scoring_s, part.scoring_s);
}

}  // namespace

bool aggregates(const RunConfig& c, const comm::StageLayout& layout) {
  const auto& updating = layout.of(comm::Stage::update);
  if (layout.of(comm::Stage::generation) != updating || layout.of(comm::Stage::scoring) != updating) return false;
  if (!c.reward.command.empty() || !c.judge.model.empty() || c.self_judging.share > 0.0) return false;
  return !reward::runs_code(reward::chosen_verifier(c.reward, task::find_task(c.task.name).verifier));
}

std::vector<int> aggregators(const comm::StageLayout& layout, const std::vector<int>& ranks) {
  struct Place {
    int aggregator = 0;
    std::size_t ranks = kMostAggregated;
  };
  std::map<int, Place> places;  // by node
  std::vector<int> all;
  for (const int rank : ranks) {
    Place& place = places[layout.node_of(rank)];
    if (place.ranks == kMostAggregated) place = {rank, 0};
    ++place.ranks;
    all.push_back(place.aggregator);
  }
  return all;
}

JudgedPart to_part(JudgedShard judged) {
  StepBatch batch;
  batch.groups = std::move(judged.shard.groups), batch.scores = std::move(judged.scores.scores),
  batch.component_names = std::move(judged.scores.component_names);
  judged.shard.groups.clear();
  return {std::move(judged.notice), std::move(judged.shard), std::move(judged.facts), judged.read_s, judged.scoring_s, to_wire(batch, Texts::along)};
}

JudgedShard from_part(JudgedPart part) {
  StepBatch batch = from_wire(part.groups);
  RolloutShard shard = std::move(part.shard);
  ScoredShard scores{shard.purpose, shard.step, shard.round, shard.producer, std::move(batch.component_names), std::move(batch.scores)};
  shard.groups = std::move(batch.groups);
  return {std::move(part.notice), std::move(shard), std::move(scores), std::move(part.facts), part.read_s, part.scoring_s};
}

std::optional<JudgedShard> ShardAggregation::add(JudgedShard part) {
  const Address address{part.shard.purpose, part.shard.step, part.shard.round};
  const std::size_t expected = part.notice.aggregated;
  auto& parts = parts_[address];
  const auto producer = part.shard.producer;
  expect(parts.try_emplace(producer, std::move(part)).second, "a rank judges one shard of a round");
  if (parts.size() < expected) return std::nullopt;
  auto all = std::move(parts_.extract(address).mapped());
  JudgedShard whole = std::move(all.begin()->second);
  for (auto at = std::next(all.begin()); at != all.end(); ++at) append(whole, std::move(at->second));
  return whole;
}

}  // namespace rollcall::stages
