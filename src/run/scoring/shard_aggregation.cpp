// Parts of a shard as messages, and the shard that they become.
#include "run/scoring/shard_aggregation.hpp"

#include "base/errors/error.hpp"
#include "run/step/step_wire.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall::run {
namespace {

/// Adds the derived prompts of a part; ascending by number.
void merge_derived(std::vector<DerivedPrompt>& all, std::vector<DerivedPrompt> part) {
  std::move(part.begin(), part.end(), std::back_inserter(all));
  std::sort(all.begin(), all.end(), [](const DerivedPrompt& a, const DerivedPrompt& b) {
    return a.prompt.id < b.prompt.id;
  });
}

/// Appends a part to the whole shard: its groups, their scores and its facts.
void append(GradedShard& whole, GradedShard part) {
  expect(part.notice.aggregated == whole.notice.aggregated, "the parts of a file are of one round");
  merge_derived(whole.notice.derived, std::move(part.notice.derived));
  whole.notice.generation_s.merge(part.notice.generation_s);
  whole.notice.figures.add(part.notice.figures);
  if (part.notice.cut || whole.notice.cut) {
    whole.notice.cut = true;
    return;
  }
  expect(part.shard.policy == whole.shard.policy &&
             part.scores.component_names == whole.scores.component_names,
         "and of one policy and verifier");
  std::move(part.shard.groups.begin(), part.shard.groups.end(),
            std::back_inserter(whole.shard.groups));
  std::move(part.scores.scores.begin(), part.scores.scores.end(),
            std::back_inserter(whole.scores.scores));
  add(whole.facts, part.facts);
  whole.notice.archive_s = std::max(whole.notice.archive_s, part.notice.archive_s);
  whole.read_s += part.read_s, whole.scoring_s = std::max(whole.scoring_s, part.scoring_s);
}

}  // namespace

GradedPart to_part(GradedShard judged) {
  StepBatch batch;
  batch.groups = std::move(judged.shard.groups), batch.scores = std::move(judged.scores.scores),
  batch.component_names = std::move(judged.scores.component_names);
  judged.shard.groups.clear();
  return {std::move(judged.notice), std::move(judged.shard),
          std::move(judged.facts),  judged.read_s,
          judged.scoring_s,         to_wire(batch, Texts::along)};
}

GradedShard from_part(GradedPart part) {
  StepBatch batch = from_wire(part.groups);
  RolloutShard shard = std::move(part.shard);
  ScoredShard scores{shard.purpose,
                     shard.step,
                     shard.round,
                     shard.producer,
                     std::move(batch.component_names),
                     std::move(batch.scores)};
  shard.groups = std::move(batch.groups);
  return {std::move(part.notice), std::move(shard), std::move(scores),
          std::move(part.facts),  part.read_s,      part.scoring_s};
}

std::optional<GradedShard> ShardAggregation::add(GradedShard part) {
  const Address address{part.shard.purpose, part.shard.step, part.shard.round};
  const std::size_t expected = part.notice.aggregated;
  auto& parts = parts_[address];
  const auto producer = part.shard.producer;
  expect(parts.try_emplace(producer, std::move(part)).second, "a rank judges one shard of a round");
  if (parts.size() < expected) return std::nullopt;
  auto all = std::move(parts_.extract(address).mapped());
  GradedShard whole = std::move(all.begin()->second);
  for (auto at = std::next(all.begin()); at != all.end(); ++at)
    append(whole, std::move(at->second));
  return whole;
}

}  // namespace rollcall::run
