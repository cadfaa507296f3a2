// Canonical order and digest of scored groups.
#include "io/canonical.hpp"

#include "base/numbers/hash.hpp"
#include "io/fault.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

// In a group's digest, one of these numbers follows the answer of a rollout that has no verdict, or
// whose verification hit a time limit. Otherwise the sample number of the next rollout follows,
// which is never this large.
constexpr std::uint64_t kUndecided = ~std::uint64_t{0}, kClockEnded = kUndecided - 1;
// These come before the number of rollouts in a group, which is never this large either.
constexpr std::uint64_t kFrom = kUndecided - 2, kStart = kUndecided - 3;
// These come after the turns of a rollout, where the number of reward components would otherwise
// follow.
constexpr std::uint64_t kOpening = kUndecided - 4, kFork = kUndecided - 5, kFacts = kUndecided - 6;

auto key(const ArchivedGroup& g) { return std::tuple(g.purpose, g.step, g.group.id); }

std::string name_of(const ArchivedGroup& g) {
  return fmt::format("group ({} step {}, prompt {}, draw {})", kPurposes[std::size_t(g.purpose)],
                     g.step, g.group.id.prompt.value, g.group.id.draw);
}

[[noreturn]] void contradiction(const std::string& problem) {
  throw StorageError(error_message(
      problem, "the shards of one step contradict each other, and packing would hide it",
      "inspect the step's files in shards/"));
}

void join(ArchivedGroup& whole, ArchivedGroup&& fragment) {
  if (whole.group.level != fragment.group.level || whole.group.bin != fragment.group.bin ||
      whole.group.stream_prompt != fragment.group.stream_prompt ||
      whole.group.from != fragment.group.from || whole.group.start != fragment.group.start ||
      whole.temperature != fragment.temperature || whole.prompt.text != fragment.prompt.text ||
      whole.prompt.answer != fragment.prompt.answer)
    contradiction(fmt::format(
        "fragments of {} differ in prompt, level, bin, stream, origin, start or temperature",
        name_of(whole)));
  whole.group.planned += fragment.group.planned;
  std::move(fragment.group.rollouts.begin(), fragment.group.rollouts.end(),
            std::back_inserter(whole.group.rollouts));
  std::move(fragment.scores.begin(), fragment.scores.end(), std::back_inserter(whole.scores));
}

void order_samples(ArchivedGroup& g) {
  std::vector<std::size_t> order(g.group.rollouts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return g.group.rollouts[a].sample < g.group.rollouts[b].sample;
  });
  std::vector<Rollout> rollouts;
  std::vector<Score> scores;
  for (const std::size_t i : order) {
    if (!rollouts.empty() && rollouts.back().sample == g.group.rollouts[i].sample)
      contradiction(fmt::format("{} has sample {} twice", name_of(g), g.group.rollouts[i].sample));
    rollouts.push_back(std::move(g.group.rollouts[i]));
    scores.push_back(std::move(g.scores[i]));
  }
  g.group.rollouts = std::move(rollouts), g.scores = std::move(scores);
}

/// Writes little-endian values of fixed width; each list or string is preceded by its length.
class Digest {
 public:
  void number(std::uint64_t value) { sha_.add(std::as_bytes(std::span(&value, 1))); }
  void text(const std::string& value) {
    number(value.size());
    sha_.add(value);
  }
  template <class T>
  void list(const std::vector<T>& values) {
    number(values.size());
    sha_.add(std::as_bytes(std::span(values)));
  }
  std::string hex() { return sha_.hex(); }

 private:
  Sha256 sha_;
};

/// Verdicts and reflections are older than the columns that name kinds. They are identified by
/// number, so that runs with no other kinds keep their hash.
bool is_told_by_number(DerivedKind kind) {
  return kind == DerivedKind::none || kind == DerivedKind::verdict ||
         kind == DerivedKind::reflection;
}

void add(Digest& digest, const Derivation& from) {
  if (is_told_by_number(from.kind)) return;
  for (const std::uint64_t value :
       {kFrom, std::uint64_t(from.kind), from.parent.step, from.parent.prompt.value,
        std::uint64_t{from.parent.draw}, std::uint64_t{from.parent_sample},
        std::uint64_t(std::int64_t{from.tier}), std::uint64_t(from.placement)})
    digest.number(value);
}

/// The reason is left out, as it is for verdicts.
void add(Digest& digest, const TurnFacts& facts) {
  digest.list(std::vector<double>{facts.reward});
  digest.list(facts.components);
  for (const std::uint64_t value :
       {facts.state, facts.action, std::uint64_t(facts.flags & ~turn_flag::moved),
        std::uint64_t(facts.kind), std::uint64_t(facts.seat)})
    digest.number(value);
}

/// Data that rollouts in most runs lack is added after its mark, if it is present.
void add_conversation(Digest& digest, const Rollout& rollout) {
  if (rollout.opening != 0) digest.number(kOpening), digest.number(std::uint64_t(rollout.opening));
  if (rollout.parent != -1 || rollout.fork_token != -1)
    digest.number(kFork), digest.number(std::uint64_t(rollout.parent)),
        digest.number(std::uint64_t(rollout.fork_token));
  if (rollout.facts.empty()) return;
  digest.number(kFacts), digest.number(rollout.facts.size());
  for (const TurnFacts& facts : rollout.facts) add(digest, facts);
}

void add(Digest& digest, const Rollout& rollout) {
  digest.number(rollout.sample);
  digest.number(std::uint64_t(rollout.finish));
  digest.text(rollout.text);
  digest.number(rollout.turns.size());
  for (const Turn& turn : rollout.turns) {
    digest.number(std::uint64_t(turn.role));
    digest.list(turn.tokens);
    digest.list(turn.columns.logprob);
    digest.list(turn.columns.entropy);
    digest.list(turn.policy_version);
    if (!turn.kept_mass.empty()) digest.list(turn.kept_mass);
    if (!turn.kept.empty()) digest.list(turn.kept.end), digest.list(turn.kept.id);
  }
  add_conversation(digest, rollout);
}

void add(Digest& digest, const Score& score) {
  digest.list(score.components);
  digest.list(std::vector<double>{score.reward});
  digest.number(score.correct ? 1 : 0);
  digest.text(score.answer);
  if (score.undecided) digest.number(kUndecided);
  if (score.clock_ended) digest.number(kClockEnded);
}

}  // namespace

void append_scored(const fs::path& run_dir, const PackInput& input,
                   std::vector<ArchivedGroup>& groups, std::vector<std::string>& component_names) {
  std::vector<ShardPrompt> prompts;
  RolloutShard shard = read_shard(run_dir, input.shard, &prompts);
  ScoredShard scored = read_scores(run_dir, input.scores);
  const fs::path path = run_dir / input.scores.path;
  if (std::tie(shard.purpose, shard.step, shard.round, shard.producer) !=
      std::tie(scored.purpose, scored.step, scored.round, scored.producer))
    refuse(path, fmt::format("it does not belong to {}", input.shard.path));
  if (scored.scores.size() != shard.groups.size())
    refuse(path, fmt::format("it has {} groups where {} has {}", scored.scores.size(),
                             input.shard.path, shard.groups.size()));
  if (groups.empty() && component_names.empty()) component_names = scored.component_names;
  if (component_names != scored.component_names)
    refuse(path, "its reward components have different names from those of earlier shards");
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    if (scored.scores[g].size() != shard.groups[g].rollouts.size())
      refuse(path, fmt::format("group {} has a different size in {}", g, input.shard.path));
    groups.push_back({shard.purpose, shard.step, std::move(shard.groups[g]), std::move(prompts[g]),
                      std::move(scored.scores[g]), shard.temperature});
  }
}

std::vector<ArchivedGroup> canonical(std::vector<ArchivedGroup> groups) {
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<ArchivedGroup> joined;
  for (ArchivedGroup& group : groups) {
    if (!joined.empty() && key(joined.back()) == key(group)) join(joined.back(), std::move(group));
    else joined.push_back(std::move(group));
  }
  for (ArchivedGroup& group : joined) order_samples(group);
  return joined;
}

std::string group_digest(const ArchivedGroup& g, const std::vector<std::string>& component_names) {
  Digest digest;
  for (const std::uint64_t value : {std::uint64_t(g.purpose), g.step, g.group.id.step,
                                    g.group.id.prompt.value, std::uint64_t{g.group.id.draw}})
    digest.number(value);
  digest.number(std::uint64_t(std::int64_t{g.group.level}));
  digest.list(std::vector<float>{g.temperature});
  digest.text(g.prompt.text);
  digest.text(g.prompt.answer);
  digest.number(component_names.size());
  for (const std::string& name : component_names) digest.text(name);
  add(digest, g.group.from);
  if (!g.group.start.empty()) digest.number(kStart), digest.text(g.group.start);
  digest.number(g.group.rollouts.size());
  for (std::size_t i = 0; i < g.group.rollouts.size(); ++i) {
    add(digest, g.group.rollouts[i]);
    add(digest, g.scores[i]);
  }
  return digest.hex();
}

}  // namespace rollcall::io
