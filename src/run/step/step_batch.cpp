// Reads a step in canonical order, computes its metrics, and cuts it into mini-batches and
// micro-batches.
#include "run/step/step_batch.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/differing.hpp"
#include "base/numbers/random.hpp"
#include "core/derived_prompt.hpp"
#include "method/columns.hpp"
#include "run/step/columns/fork_columns.hpp"
#include "run/step/columns/turn_columns.hpp"
#include "run/step/micro_batch_packing.hpp"
#include "run/step/step_wire.hpp"
#include "run/step/turn_figures.hpp"
#include "run/step/undecided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace rollcall::run {
namespace {

/// Sorts the rollouts of a merged group by sample, and their scores with them.
void sort_samples(Group& group, std::vector<Score>& scores) {
  const auto not_ascending = [](const Rollout& a, const Rollout& b) {
    return a.sample >= b.sample;
  };
  if (std::adjacent_find(group.rollouts.begin(), group.rollouts.end(), not_ascending) ==
      group.rollouts.end())
    return;
  std::vector<std::size_t> order(group.rollouts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return group.rollouts[a].sample < group.rollouts[b].sample;
  });
  std::vector<Rollout> rollouts;
  std::vector<Score> sorted;
  for (const std::size_t i : order) {
    require<ProtocolError>(
        rollouts.empty() || rollouts.back().sample != group.rollouts[i].sample,
        fmt::format("sample {} of prompt {} arrived twice in step {}", group.rollouts[i].sample,
                    group.id.prompt.value, group.id.step),
        "its gradient would count twice", "resume from the last checkpoint");
    rollouts.push_back(std::move(group.rollouts[i]));
    sorted.push_back(std::move(scores[i]));
  }
  group.rollouts = std::move(rollouts);
  scores = std::move(sorted);
}

std::pair<RolloutShard, ScoredShard> read(const std::filesystem::path& run_dir,
                                          const ScoredFile& file) {
  io::await_published(run_dir, file.shard), io::await_published(run_dir, file.scores);
  return {io::read_shard(run_dir, file.shard), io::read_scores(run_dir, file.scores)};
}

/// Appends the groups and verdicts of a file to `part`.
void append_file(const std::filesystem::path& run_dir, const ScoredFile& file, ShardCache* kept,
                 StepBatch& part) {
  auto in_memory = kept != nullptr ? kept->take(file.shard.path) : std::nullopt;
  auto [shard, scores] = in_memory ? std::move(*in_memory) : read(run_dir, file);
  require<StorageError>(scores.scores.size() == shard.groups.size(),
                        fmt::format("{} scores {} groups, but {} holds {}", file.scores.path,
                                    scores.scores.size(), file.shard.path, shard.groups.size()),
                        "scores must belong to their shard", "resume from the last checkpoint");
  if (shard.purpose == Purpose::greedy) {
    for (std::size_t g = 0; g < shard.groups.size(); ++g)
      part.greedy[shard.groups[g].id.prompt] = greedy_reward(scores.scores[g].at(0));
    return;
  }
  part.component_names = scores.component_names;
  for (auto& group : shard.groups)
    for (auto& rollout : group.rollouts) {
      rollout.text = {};
      for (TurnFacts& facts : rollout.facts) facts.reason = {};
    }
  std::move(shard.groups.begin(), shard.groups.end(), std::back_inserter(part.groups));
  std::move(scores.scores.begin(), scores.scores.end(), std::back_inserter(part.scores));
}

/// Adds a part to the whole step and merges fragments of one group. `index`: where groups are in
/// `whole`.
void merge_into(StepBatch& whole, std::map<GroupId, std::size_t>& index, StepBatch part) {
  if (whole.component_names.empty()) whole.component_names = part.component_names;
  whole.greedy.merge(part.greedy);
  for (std::size_t g = 0; g < part.groups.size(); ++g) {
    const auto [at, fresh] = index.try_emplace(part.groups[g].id, whole.groups.size());
    if (fresh) {
      whole.groups.push_back(std::move(part.groups[g]));
      whole.scores.push_back(std::move(part.scores[g]));
    } else {
      auto& rollouts = part.groups[g].rollouts;
      std::move(rollouts.begin(), rollouts.end(),
                std::back_inserter(whole.groups[at->second].rollouts));
      std::move(part.scores[g].begin(), part.scores[g].end(),
                std::back_inserter(whole.scores[at->second]));
    }
  }
}

/// Sorts groups by id, and rollouts of a group by sample.
StepBatch in_order(StepBatch batch, const std::map<GroupId, std::size_t>& index) {
  StepBatch sorted;
  sorted.component_names = std::move(batch.component_names),
  sorted.greedy = std::move(batch.greedy);
  for (const auto& [id, g] : index) {
    sort_samples(batch.groups[g], batch.scores[g]);
    sorted.groups.push_back(std::move(batch.groups[g]));
    sorted.scores.push_back(std::move(batch.scores[g]));
  }
  return sorted;
}

/// The number of tokens that a group has in a micro-batch, in which MicroBatchPacker puts its
/// prompt only once.
std::int64_t group_tokens(const Group& group) {
  std::size_t count = 0;
  const std::vector<std::int32_t>* before = nullptr;
  for (const auto& rollout : group.rollouts) {
    const auto* prompt = &rollout.turns.front().tokens;
    for (const auto& turn : rollout.turns) count += turn.tokens.size();
    if (before != nullptr && *before == *prompt) count -= prompt->size();
    before = prompt;
  }
  return std::int64_t(count);
}

/// Columns of groups, in the order in which the groups are appended.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const StepBatch& step) : turns_(step.groups) {}
  std::int64_t rollouts() const { return std::int64_t(made_.reward.size()); }

  void append(const StepBatch& batch, std::size_t g) {
    const Group& group = batch.groups[g];
    std::map<std::string, double> answers;  // numbers of answers, in order of appearance: the
                                            // column only shows which answers are equal
    append_old(batch, g);
    append_forks(group, made_);
    auto& named = made_.named;
    auto &correct = named["correct"], &expert = named[method::column::expert],
         &version_lag = named[method::column::version_lag], &answer = named["answer"];
    auto &derived = named[method::column::derived], &tier = named[method::column::tier],
         &opening = named[method::column::opening], &given = named[method::column::given];
    std::vector<std::vector<double>*> components;
    for (const auto& name : batch.component_names)
      components.push_back(&named["component/" + name]);
    const double lag =
        double(batch.policy.value -
               std::min(sampled_by(group).value_or(batch.policy.value), batch.policy.value));
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Rollout& rollout = group.rollouts[i];
      const Score& score = batch.scores[g][i];
      for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
        const Turn& turn = rollout.turns[t];
        made_.rollout_logprob.insert(made_.rollout_logprob.end(), turn.columns.logprob.begin(),
                                     turn.columns.logprob.end());
        entropy_.insert(entropy_.end(), turn.columns.entropy.begin(), turn.columns.entropy.end());
        if (turn.role != Role::policy) continue;
        made_.token.insert(made_.token.end(), turn.tokens.begin(), turn.tokens.end());
        const bool is_given =
            t < rollout.facts.size() && (rollout.facts[t].flags & turn_flag::given) != 0;
        given.insert(given.end(), turn.tokens.size(), is_given ? 1.0 : 0.0);
      }
      turns_.append(rollout, score, made_.offsets.back());
      made_.offsets.push_back(std::int64_t(made_.rollout_logprob.size()));
      made_.reward.push_back(score.reward);
      made_.group.push_back(groups_);
      made_.prompt_level.push_back(group.level);
      made_.truncated.push_back(
          rollout.finish == FinishReason::length || rollout.finish == FinishReason::turns ? 1 : 0);
      // Each rollout has its own address, so that draws for it do not depend on the other rollouts
      // in the step.
      const GroupId& id = sampled_in(group, rollout);
      made_.key.push_back(std::int64_t(
          RandomStream(id.prompt.value, RandomPurpose::objective, id.step, id.draw, rollout.sample)
              .bits(0) >>
          1U));
      made_.replayed.push_back(g >= fresh_groups(batch) ? 1 : 0);
      correct.push_back(score.correct ? 1.0 : 0.0);
      expert.push_back(is_expert(rollout) ? 1.0 : 0.0);
      version_lag.push_back(lag);
      const Derivation& from = asked_for(group, rollout);
      derived.push_back(double(kind_of(sampled_in(group, rollout), from)));
      tier.push_back(double(from.tier));
      opening.push_back(double(rollout.opening));
      if (!batch.greedy.empty())
        named[method::column::greedy_reward].push_back(batch.greedy.at(group.id.prompt));
      answer.push_back(
          score.answer.empty()
              ? -1.0
              : answers.try_emplace(score.answer, double(answers.size())).first->second);
      for (std::size_t k = 0; k < score.components.size(); ++k)
        components.at(k)->push_back(score.components[k]);
    }
    for (const auto& [name, by_group] : batch.columns)
      computed_[name].insert(computed_[name].end(), by_group.at(g).begin(), by_group.at(g).end());
    pairs_ += group.rollouts.size() * group.rollouts.size();
    ++groups_;
  }

  method::StepColumns finish(std::int64_t max_new_tokens) && {
    const std::size_t tokens = made_.rollout_logprob.size();
    made_.max_new_tokens = double(max_new_tokens);
    made_.named[method::column::old_entropy] = std::move(entropy_);
    std::move(turns_).add_to(made_, std::int64_t(tokens));
    for (const auto& [name, values] : computed_) {
      const std::size_t all = name == method::column::gradient_cosine ? pairs_ : tokens;
      if (is_of_whole_steps(name) || values.size() == all)
        made_.named[name].assign(values.begin(), values.end());
    }
    return std::move(made_);
  }

 private:
  /// Appends old log-probs. For fresh groups the stored log-probs belong to the policy at the start
  /// of the update, because one engine samples and trains. A replayed group may have log-probs that
  /// were computed again.
  void append_old(const StepBatch& batch, std::size_t g) {
    auto& old = made_.old_logprob;
    const auto proximal = batch.columns.find(kProximalLogprob);
    if (proximal != batch.columns.end() && !proximal->second.at(g).empty()) {
      old.insert(old.end(), proximal->second[g].begin(), proximal->second[g].end());
      return;
    }
    for (const auto& rollout : batch.groups[g].rollouts)
      for (const auto& turn : rollout.turns)
        old.insert(old.end(), turn.columns.logprob.begin(), turn.columns.logprob.end());
  }

  method::StepColumns made_{.offsets = {0}};
  TurnColumns turns_;
  std::vector<double> entropy_;                         ///< [N] as generation stored it
  std::map<std::string, std::vector<float>> computed_;  ///< StepBatch::columns by name
  std::size_t pairs_ = 0;  ///< number of pairs of two rollouts of a group, including each with
                           ///< itself
  std::int64_t groups_ = 0;
};

}  // namespace

std::vector<std::vector<ScoredFile>> shared_out(std::vector<ScoredFile> files,
                                                const std::vector<int>& readers) {
  std::vector<std::vector<ScoredFile>> shares(readers.size());
  std::size_t next = 0;  // number of files so far that any reader may read
  for (ScoredFile& file : files) {
    std::size_t reader = next % readers.size();
    if (file.cached_on_rank >= 0) {
      const auto cached_on_rank =
          std::lower_bound(readers.begin(), readers.end(), file.cached_on_rank);
      expect(cached_on_rank != readers.end() && *cached_on_rank == file.cached_on_rank,
             "a keeper reads what it keeps");
      reader = std::size_t(cached_on_rank - readers.begin());
    } else {
      ++next;
    }
    shares[reader].push_back(std::move(file));
  }
  return shares;
}

StepBatch read_step(const std::filesystem::path& run_dir, const std::vector<ScoredFile>& files,
                    comm::Communicator& ranks, StepResidency at, ShardCache* kept) {
  StepBatch own;
  for (const ScoredFile& file : files) append_file(run_dir, file, kept, own);
  if (kept != nullptr) kept->clear();
  std::map<GroupId, std::size_t> index;
  StepBatch whole;
  std::vector<std::string> received;
  if (ranks.size() > 1) {
    const bool leads = at == StepResidency::leader && ranks.rank() == 0;
    // The leader has its own part and need not read it from bytes.
    std::string bytes = leads ? std::string() : to_wire(own);
    received = at == StepResidency::leader ? ranks.gather(std::move(bytes), 0)
                                           : ranks.gather_all(std::move(bytes));
  }
  if (at == StepResidency::every_rank || ranks.rank() == 0)
    merge_into(whole, index, std::move(own));
  for (std::size_t rank = 0; rank < received.size(); ++rank)
    if (rank != std::size_t(ranks.rank())) merge_into(whole, index, from_wire(received[rank]));
  return in_order(std::move(whole), index);
}

StepBatch joined(std::vector<StepBatch> parts) {
  std::map<GroupId, std::size_t> index;
  StepBatch whole;
  for (auto& part : parts) merge_into(whole, index, std::move(part));
  return in_order(std::move(whole), index);
}

std::size_t fresh_groups(const StepBatch& batch) { return batch.groups.size() - batch.replayed; }

StepBatch own_rollouts(StepBatch batch) {
  batch.groups.resize(fresh_groups(batch)), batch.scores.resize(batch.groups.size());
  if (!batch.training.empty()) batch.training.resize(batch.groups.size());
  batch.replayed = 0;
  batch.columns.clear();
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    if (batch.groups[g].rollouts.empty() || !is_expert(batch.groups[g].rollouts.back())) continue;
    batch.groups[g].rollouts.pop_back(), batch.scores[g].pop_back();
  }
  return batch;
}

namespace {

/// The probability mass of the tokens that sampling could draw.
class KeptFigures {
 public:
  void add(const Rollout& rollout) {
    for (const Turn& turn : rollout.turns) {
      for (const float mass : turn.kept_mass)
        sum_ += double(mass), least_ = std::min(least_, double(mass));
      tokens_ += double(turn.kept_mass.size());
      for (std::size_t t = 0; t < turn.kept.end.size(); ++t)
        lists_ += turn.kept.of(t).empty() ? 0.0 : 1.0;
      kept_ += double(turn.kept.id.size());
    }
  }
  void write(std::map<std::string, double>& metrics) const {
    if (tokens_ > 0)
      metrics["rollout/kept_mass_mean"] = sum_ / tokens_, metrics["rollout/kept_mass_min"] = least_;
    if (lists_ > 0) metrics["rollout/kept_tokens_mean"] = kept_ / lists_;
  }

 private:
  double sum_ = 0.0, least_ = 1.0, tokens_ = 0.0, lists_ = 0.0, kept_ = 0.0;
};

}  // namespace

std::map<std::string, double> rollout_metrics(const StepBatch& own) {
  KeptFigures kept;
  TurnFigures talks;
  double groups = 0.0, rollouts = 0.0, correct = 0.0, tokens = 0.0, truncated = 0.0, compared = 0.0,
         equal = 0.0;
  std::map<PromptId, std::pair<double, double>> prompts;  // numbers of rollouts and of correct ones
  for (std::size_t g = 0; g < own.groups.size(); ++g) {
    if (!is_plain(own.groups[g].id, own.groups[g].from)) continue;
    // Rollouts that have moved here from a derived group come last.
    const auto& rollouts_of_group = own.groups[g].rollouts;
    const auto sampled = std::count_if(rollouts_of_group.begin(), rollouts_of_group.end(),
                                       [](const Rollout& r) { return !r.placed; });
    const std::span<const Score> scores(own.scores[g].data(), std::size_t(sampled));
    if (scores.empty()) continue;
    groups += 1.0;
    auto& [drawn, solved] = prompts[own.groups[g].id.prompt];
    drawn += double(scores.size());
    solved += double(
        std::count_if(scores.begin(), scores.end(), [](const Score& s) { return s.correct; }));
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Rollout& rollout = rollouts_of_group[i];
      rollouts += 1.0, correct += scores[i].correct ? 1.0 : 0.0,
          tokens += double(policy_tokens(rollout));
      truncated += rollout.finish == FinishReason::length ? 1.0 : 0.0;
      kept.add(rollout), talks.add(rollout);
    }
    if (scores.size() < 2) continue;
    compared += 1.0;
    equal += std::all_of(scores.begin(), scores.end(),
                         [&](const Score& s) { return !differ(s.reward, scores.front().reward); })
                 ? 1.0
                 : 0.0;
  }
  const double n = std::max(rollouts, 1.0);
  double solved = 0.0;
  for (const auto& [prompt, of] : prompts) solved += of.second / std::max(of.first, 1.0);
  std::map<std::string, double> metrics{
      {"train/pass_rate", solved / std::max(double(prompts.size()), 1.0)},
      {"train/pass_rate_rollouts", correct / n},
      {"response_length/mean", tokens / n},
      {"response_length/clip_ratio", truncated / n}};
  if (groups > 0) metrics["train/distinct_prompts_share"] = double(prompts.size()) / groups;
  if (compared > 0) metrics["train/frac_reward_zero_std"] = equal / compared;
  kept.write(metrics), talks.write(metrics);
  return metrics;
}

std::vector<std::int32_t> policy_ids(const Rollout& rollout) {
  std::vector<std::int32_t> ids;
  for (const auto& turn : rollout.turns)
    if (turn.role == Role::policy) ids.insert(ids.end(), turn.tokens.begin(), turn.tokens.end());
  return ids;
}

std::int64_t policy_tokens(const Rollout& rollout) {
  std::int64_t count = 0;
  for (const auto& turn : rollout.turns)
    count += turn.role == Role::policy ? std::int64_t(turn.tokens.size()) : 0;
  return count;
}

std::size_t guide_tokens(const Group& group) {
  if (group.rollouts.front().opening != 0) return 0;
  const auto& turns = group.rollouts.front().turns;
  return turns.size() > 1 && turns[1].role == Role::environment ? turns[1].tokens.size() : 0;
}

std::optional<std::uint64_t> sampled_by(const Group& group) {
  std::optional<std::uint64_t> oldest;
  for (const auto& rollout : group.rollouts)
    for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
      if (was_given(rollout, t)) continue;  // it was not sampled
      for (const std::uint64_t version : rollout.turns[t].policy_version)
        oldest = std::min(oldest.value_or(version), version);
    }
  return oldest;
}

std::size_t trained_rollouts(const StepBatch& batch, std::size_t group) {
  const std::size_t rollouts = batch.groups[group].rollouts.size();
  if (batch.training.empty()) return rollouts;
  const auto& keep = batch.training[group].keep;
  return rollouts - std::size_t(std::count(keep.begin(), keep.end(), std::uint8_t{0}));
}

std::vector<std::size_t> mini_batch(const StepBatch& batch, std::int64_t index,
                                    std::int64_t count) {
  std::vector<std::size_t> groups;
  std::int64_t dealt = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g)
    if (trained_rollouts(batch, g) > 0 && dealt++ % count == index) groups.push_back(g);
  return groups;
}

std::vector<std::vector<std::size_t>> micro_batch_groups(const StepBatch& batch,
                                                         const std::vector<std::size_t>& groups,
                                                         std::int64_t micro_batch_tokens) {
  std::vector<std::vector<std::size_t>> micro_batches;
  std::int64_t filled = 0;  // tokens of the last micro-batch
  for (const std::size_t g : groups) {
    const std::int64_t tokens = group_tokens(batch.groups[g]);
    if (micro_batches.empty() || (filled > 0 && filled + tokens > micro_batch_tokens))
      micro_batches.emplace_back(), filled = 0;
    micro_batches.back().push_back(g);
    filled += tokens;
  }
  return micro_batches;
}

namespace {

/// Appends the columns of a turn. Tokens before a turn with missed tokens have a miss_logprob of 0.
void append(const Turn& turn, TokenColumns& to) {
  const auto extend = [](std::vector<float>& column, const std::vector<float>& values) {
    column.insert(column.end(), values.begin(), values.end());
  };
  if (!turn.missed.empty()) {
    to.miss_logprob.resize(to.logprob.size());
    extend(to.miss_logprob, turn.columns.miss_logprob);
  }
  extend(to.logprob, turn.columns.logprob);
  extend(to.entropy, turn.columns.entropy);
}

}  // namespace

TrainBatch make_train_batch(const StepBatch& batch, const std::vector<std::size_t>& groups,
                            std::int64_t micro_batch_tokens, std::int64_t max_new_tokens) {
  TrainBatch out;
  ColumnBuilder columns(batch);
  for (const auto& together : micro_batch_groups(batch, groups, micro_batch_tokens)) {
    auto& micro_batch = out.micro_batches.emplace_back();
    for (const std::size_t g : together) {
      MicroBatchPacker packer(micro_batch.micro_batch);
      for (const auto& rollout : batch.groups[g].rollouts) {
        micro_batch.rollouts.push_back(columns.rollouts() +
                                       std::int64_t(&rollout - batch.groups[g].rollouts.data()));
        packer.append(rollout);
        for (const auto& turn : rollout.turns) append(turn, micro_batch.stored);
      }
      columns.append(batch, g);
    }
    if (!micro_batch.stored.miss_logprob.empty())
      micro_batch.stored.miss_logprob.resize(micro_batch.stored.logprob.size());
  }
  out.columns = std::move(columns).finish(max_new_tokens);
  return out;
}

}  // namespace rollcall::run
