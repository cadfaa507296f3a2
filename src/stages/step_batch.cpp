// Canonical order, mini-batches and leaves.
#include "stages/step_batch.hpp"

#include "base/error.hpp"
#include "base/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace rollcall::stages {
namespace {

/// Sorts a merged group's rollouts by sample, scores alongside.
void sort_samples(Group& group, std::vector<Score>& scores) {
  std::vector<std::size_t> order(group.rollouts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return group.rollouts[a].sample < group.rollouts[b].sample; });
  std::vector<Rollout> rollouts;
  std::vector<Score> sorted;
  for (const std::size_t i : order) {
    require<ProtocolError>(rollouts.empty() || rollouts.back().sample != group.rollouts[i].sample,
                           fmt::format("sample {} of prompt {} came twice in step {}", group.rollouts[i].sample, group.id.prompt.value, group.id.step),
                           "its gradient would count twice", "resume from the last checkpoint");
    rollouts.push_back(std::move(group.rollouts[i]));
    sorted.push_back(std::move(scores[i]));
  }
  group.rollouts = std::move(rollouts);
  scores = std::move(sorted);
}

/// A file's groups and verdicts behind those of `part`.
void append_file(const std::filesystem::path& run_dir, const ScoredFile& file, StepBatch& part) {
  RolloutShard shard = io::read_shard(run_dir, file.shard);
  ScoredShard scores = io::read_scores(run_dir, file.scores);
  require<StorageError>(scores.scores.size() == shard.groups.size(),
                        fmt::format("{} scores {} groups, {} holds {}", file.scores.path, scores.scores.size(), file.shard.path, shard.groups.size()),
                        "scores must belong to their shard", "resume from the last checkpoint");
  std::move(shard.groups.begin(), shard.groups.end(), std::back_inserter(part.groups));
  std::move(scores.scores.begin(), scores.scores.end(), std::back_inserter(part.scores));
}

/// Fragments of one group come together; `index` says where a group is in `whole`.
void merge_into(StepBatch& whole, std::map<GroupId, std::size_t>& index, StepBatch part) {
  for (std::size_t g = 0; g < part.groups.size(); ++g) {
    const auto [at, fresh] = index.try_emplace(part.groups[g].id, whole.groups.size());
    if (fresh) {
      whole.groups.push_back(std::move(part.groups[g]));
      whole.scores.push_back(std::move(part.scores[g]));
    } else {
      auto& rollouts = part.groups[g].rollouts;
      std::move(rollouts.begin(), rollouts.end(), std::back_inserter(whole.groups[at->second].rollouts));
      std::move(part.scores[g].begin(), part.scores[g].end(), std::back_inserter(whole.scores[at->second]));
    }
  }
}

/// Groups ascending, samples ascending inside.
StepBatch in_order(StepBatch batch, const std::map<GroupId, std::size_t>& index) {
  StepBatch sorted;
  for (const auto& [id, g] : index) {
    sort_samples(batch.groups[g], batch.scores[g]);
    sorted.groups.push_back(std::move(batch.groups[g]));
    sorted.scores.push_back(std::move(batch.scores[g]));
  }
  return sorted;
}

void append_rollout(model::Leaf& leaf, const Rollout& rollout) {
  if (leaf.offsets.empty()) leaf.offsets.push_back(0);
  for (const auto& turn : rollout.turns) {
    for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
      if (turn.role == Role::policy) leaf.targets.push_back(std::int64_t(leaf.tokens.size()));
      leaf.tokens.push_back(turn.tokens[t]);
    }
  }
  leaf.offsets.push_back(std::int64_t(leaf.tokens.size()));
}

std::int64_t group_tokens(const Group& group) {
  std::int64_t count = 0;
  for (const auto& rollout : group.rollouts)
    for (const auto& turn : rollout.turns) count += std::int64_t(turn.tokens.size());
  return count;
}

at::Tensor int64_tensor(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }
at::Tensor double_tensor(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

}  // namespace

StepBatch read_step(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files, comm::Communicator& ranks) {
  StepBatch own;
  for (auto i = std::size_t(ranks.rank()); i < files.size(); i += std::size_t(ranks.size())) append_file(run_dir, files[i], own);
  std::map<GroupId, std::size_t> index;
  StepBatch whole;
  if (ranks.size() == 1) {
    merge_into(whole, index, std::move(own));
  } else {
    for (const auto& bytes : ranks.gather_all(to_bytes(own))) merge_into(whole, index, from_bytes<StepBatch>(bytes));
  }
  return in_order(std::move(whole), index);
}

void shuffle_rewards(StepBatch& batch, std::uint64_t seed, std::uint64_t step) {
  std::vector<double*> rewards;
  for (auto& group : batch.scores)
    for (auto& score : group) rewards.push_back(&score.reward);
  const RandomStream stream(seed, RandomPurpose::shuffle, step);
  for (std::size_t i = rewards.size(); i > 1; --i) std::swap(*rewards[i - 1], *rewards[stream.below(i, i)]);
}

std::vector<std::size_t> mini_batch(const StepBatch& batch, std::int64_t index, std::int64_t count) {
  std::vector<std::size_t> groups;
  for (std::size_t g = std::size_t(index); g < batch.groups.size(); g += std::size_t(count)) groups.push_back(g);
  return groups;
}

TrainBatch make_train_batch(const StepBatch& batch, const std::vector<std::size_t>& groups, std::int64_t leaf_tokens, std::int64_t max_new_tokens) {
  TrainBatch out;
  std::vector<double> reward, logprob;
  std::vector<std::int64_t> group_index, level, offsets{0}, truncated;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const Group& group = batch.groups[groups[k]];
    const auto tokens = std::int64_t(out.leaves.empty() ? 0 : out.leaves.back().leaf.tokens.size());
    if (out.leaves.empty() || (tokens > 0 && tokens + group_tokens(group) > leaf_tokens)) out.leaves.emplace_back();
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      out.leaves.back().rollouts.push_back(std::int64_t(reward.size()));
      append_rollout(out.leaves.back().leaf, group.rollouts[i]);
      for (const auto& turn : group.rollouts[i].turns) logprob.insert(logprob.end(), turn.logprob.begin(), turn.logprob.end());
      offsets.push_back(std::int64_t(logprob.size()));
      reward.push_back(batch.scores[groups[k]][i].reward);
      group_index.push_back(std::int64_t(k));
      level.push_back(group.level);
      truncated.push_back(group.rollouts[i].finish == FinishReason::length ? 1 : 0);
    }
  }
  auto& c = out.columns;
  c.reward = double_tensor(reward), c.group = int64_tensor(group_index), c.prompt_level = int64_tensor(level), c.offsets = int64_tensor(offsets);
  c.rollout_logprob = double_tensor(logprob);
  c.old_logprob = c.rollout_logprob;  // the generator is the policy at the start of the update: one engine, staleness 0
  c.truncated = int64_tensor(truncated).to(at::kBool);
  c.max_new_tokens = double(max_new_tokens);
  return out;
}

}  // namespace rollcall::stages
