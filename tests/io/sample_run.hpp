// Runs small enough to write in a test: folders that remove themselves, shards of every shape, and
// value comparison.
#pragma once

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "io/archive.hpp"
#include "io/canonical.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rollcall::io::test {

/// A run folder that lives as long as the object.
class RunFolder {
 public:
  RunFolder() {
    static std::atomic<int> next{0};
    const std::filesystem::path memory = "/dev/shm";  // where fsync costs nothing
    path_ =
        (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
        ("rollcall_io_" + std::to_string(::getpid()) + "_" + std::to_string(next++));
    std::filesystem::create_directories(path_);
  }
  ~RunFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  operator const std::filesystem::path&() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline RunIdentity identity() {
  return {"run-7", std::string(64, 'a'), std::string(64, 'b'), "0.1.0", "4711",
          42,      "00000000000000ab"};
}

/// Random numbers by address, as everywhere: the shard is a function of its arguments.
struct Dice {
  RandomStream stream;
  std::uint64_t next = 0;
  explicit Dice(std::uint64_t seed) : stream(seed, RandomPurpose::test) {}
  std::uint64_t below(std::uint64_t n) { return stream.below(next++, n); }
  float value() { return float(stream.normal(next++)); }
};

inline std::string words(Dice& dice) {
  static const std::vector<std::string> parts{"", "a", "7 3 1", "→", "übung", "数", "\n", "🙂"};
  std::string text;
  for (auto n = dice.below(4); n > 0; --n) text += parts[dice.below(parts.size())];
  return text;
}

/// As draws leave tokens out: in a policy turn of an even number of tokens, every second with a
/// list.
/// A function of what stands in the turn.
inline void keep_some(Turn& turn) {
  if (turn.role != Role::policy || turn.tokens.size() % 2 != 0) return;
  for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
    const std::int32_t token = turn.tokens[t];
    turn.kept_mass.push_back(1.0F / float(1 + token % 7));
    if (t % 2 == 1) turn.kept.put(t, std::vector<std::int32_t>{token, token + 1, token + 300});
  }
}

inline Turn turn(Dice& dice, Role role) {
  Turn made{.role = role, .tokens = {}};
  for (auto n = dice.below(6); n > 0; --n) {
    made.tokens.push_back(std::int32_t(dice.below(300)));
    if (role != Role::policy) continue;
    made.columns.logprob.push_back(-std::abs(dice.value()));
    made.columns.entropy.push_back(std::abs(dice.value()));
    made.policy_version.push_back(dice.below(9));
  }
  keep_some(made);
  return made;
}

inline Rollout rollout(Dice& dice, std::uint32_t sample) {
  Rollout made{.sample = sample,
               .finish = FinishReason(dice.below(2)),
               .turns = {turn(dice, Role::prompt), turn(dice, Role::policy)},
               .text = words(dice)};
  for (auto n = dice.below(3); n > 0; --n) {  // further exchanges with the environment
    made.turns.push_back(turn(dice, Role::environment));
    made.turns.push_back(turn(dice, Role::policy));
  }
  return made;
}

struct Sample {
  RolloutShard shard;
  std::vector<ShardPrompt> prompts;
  ScoredShard scores;
};

/// Facts of a conversation for every turn, a forked or an opened beginning, or none of it: a
/// function of what is in the rollout, so that its other values are what they were without it.
inline void converse(Rollout& rollout) {
  std::uint64_t address = rollout.sample;
  for (const Turn& turn : rollout.turns)
    for (const std::int32_t token : turn.tokens) address = address * 31 + std::uint64_t(token);
  Dice dice(address);
  if (dice.below(3) == 0) rollout.opening = std::int64_t(1 + dice.below(4));
  if (dice.below(3) == 0)
    rollout.parent = std::int64_t(dice.below(9)), rollout.fork_token = std::int64_t(dice.below(40));
  if (dice.below(2) == 0) return;
  if (dice.below(3) == 0) rollout.finish = FinishReason(2 + dice.below(2));
  constexpr std::int64_t kFlags = 2 * turn_flag::by_clock - 1 - turn_flag::given;
  for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
    TurnFacts& facts = rollout.facts.emplace_back();
    facts.state = ~(dice.below(1000) << 40U);  // the highest bit is set
    if (rollout.turns[t].role != Role::policy) continue;
    facts.reward = dice.value();
    for (auto n = dice.below(3); n > 0; --n) facts.components.push_back(dice.value());
    facts.action = ~dice.below(1000), facts.flags = std::int64_t(dice.below(1024)) & kFlags;
    facts.kind = std::int64_t(dice.below(5)), facts.seat = std::int64_t(dice.below(3)) - 1;
    facts.reason = words(dice);
  }
  if (rollout.turns.size() > 2) rollout.text += '\x1e' + words(dice);  // a second action
}

/// A group's origin, a function of step and prompt, as fragments of a group have one origin. Every
/// second group is plain, as the scheduler draws it.
inline void derive(Group& group) {
  Dice dice(group.id.prompt.value + 7919 * (group.id.step + 1));
  if (group.id.prompt.value % 2 == 0) return;
  group.from = {.kind = DerivedKind(1 + dice.below(10)),
                .parent = {group.id.step, {dice.below(100)}, std::uint32_t(dice.below(4))},
                .parent_sample =
                    dice.below(2) == 0 ? Derivation::kWholeGroup : std::uint32_t(dice.below(1000)),
                .tier = std::int32_t(dice.below(4)),
                .placement = Placement(dice.below(5))};
  group.start = words(dice);
}

/// What files of schema *.7 and before have of a group.
inline void forget_conversation(Group& group) {
  group.from = {}, group.start.clear();
  for (Rollout& rollout : group.rollouts)
    rollout.opening = 0, rollout.parent = rollout.fork_token = -1, rollout.facts.clear();
}

/// `groups` uneven groups; samples are numbered from 100 * round, so that rounds hold fragments of
/// the same groups.
inline Sample sample(std::uint64_t seed, std::uint64_t step, std::size_t groups,
                     std::uint32_t round = 0, std::uint32_t producer = 1,
                     Purpose purpose = Purpose::train) {
  Dice dice(seed * 1000003 + step * 1009 + round * 101 + producer);
  Sample s;
  s.shard = {.purpose = purpose,
             .step = step,
             .round = round,
             .producer = producer,
             .policy = {step},
             .temperature = 0.75F,
             .groups = {}};
  s.scores = {.purpose = purpose,
              .step = step,
              .round = round,
              .producer = producer,
              .component_names = {"correct", "größe"},
              .scores = {}};
  for (std::size_t g = 0; g < groups; ++g) {
    const std::uint64_t prompt = 10 * producer + (groups - g);  // not in canonical order
    Dice prompt_dice(prompt);
    Group group{.id = {step, {prompt}, std::uint32_t(g % 2)},
                .level = std::int32_t(prompt % 5),
                .rollouts = {},
                .planned = std::uint32_t(6 + round),
                .bin = std::int32_t(prompt % 3) - 1,
                .stream_prompt = prompt | std::uint64_t(purpose) << 60U};
    derive(group);
    s.prompts.push_back({words(prompt_dice), words(prompt_dice)});
    if (prompt % 3 > 0)
      s.prompts.back().shown = words(prompt_dice),
      s.prompts.back().extra = "{\"line\": " + std::to_string(prompt) + "}";
    auto& scores = s.scores.scores.emplace_back();
    const auto n = 1 + dice.below(5);
    for (std::uint64_t i = 0; i < n; ++i) {
      group.rollouts.push_back(rollout(dice, std::uint32_t(100 * round + n - i)));
      converse(group.rollouts.back());
      scores.push_back({.components = {double(dice.below(2)), dice.value()},
                        .reward = dice.value(),
                        .correct = dice.below(2) == 1,
                        .answer = words(dice)});
      if (auto& last = scores.back(); dice.below(4) == 0)
        last.undecided = true, last.correct = false, last.reason = words(dice);
      scores.back().clock_ended = scores.size() % 3 == 0;
    }
    s.shard.groups.push_back(std::move(group));
  }
  return s;
}

inline PackInput write(const std::filesystem::path& run_dir, const Sample& s,
                       const RunIdentity& who = identity()) {
  return {publish(run_dir, draft_shard(s.shard, s.prompts, who)),
          publish(run_dir, draft_scores(s.scores, s.shard, who))};
}

/// As a rank writes what it has sampled and scored.
inline PackInput write_in_one(const std::filesystem::path& run_dir, const Sample& s,
                              const RunIdentity& who = identity()) {
  const PublishedFile file = publish(run_dir, draft_scored(s.shard, s.prompts, s.scores, who));
  return {file, file};
}

/// What a step of these shards trained on: a function of prompt and sample. One file, in canonical
/// order.
inline StepTraining training(const std::vector<Sample>& shards) {
  std::vector<ArchivedGroup> groups;
  for (const Sample& s : shards)
    for (std::size_t g = 0; g < s.shard.groups.size(); ++g)
      groups.push_back({s.shard.purpose, s.shard.step, s.shard.groups[g], s.prompts[g],
                        s.scores.scores[g], s.shard.temperature});
  StepTraining step{.step = shards.front().shard.step};
  for (const ArchivedGroup& each : canonical(std::move(groups))) {
    const auto prompt = each.group.id.prompt.value;
    std::vector<RolloutTraining> rollouts;
    for (const Rollout& rollout : each.group.rollouts) {
      const auto place = prompt + rollout.sample;
      rollouts.push_back({.trained = place % 3 != 0,
                          .weight = 0.5 + double(prompt % 4),
                          .advantage = double(rollout.sample) - 2.5,
                          .left = place % 6 == 0});
    }
    append(each.group, rollouts, step);
  }
  return step;
}
inline PackInput write_training(const std::filesystem::path& run_dir,
                                const std::vector<Sample>& shards,
                                const RunIdentity& who = identity()) {
  const PublishedFile file = publish(run_dir, draft_training(training(shards), who));
  return {file, file};
}

inline bool same(const RolloutTraining& a, const RolloutTraining& b) {
  return a.trained == b.trained && a.weight == b.weight && a.advantage == b.advantage &&
         a.left == b.left;
}
inline bool same(const Turn& a, const Turn& b) {
  return a.role == b.role && a.tokens == b.tokens && a.columns.logprob == b.columns.logprob &&
         a.columns.entropy == b.columns.entropy && a.policy_version == b.policy_version &&
         a.kept_mass == b.kept_mass && a.kept == b.kept;
}
inline bool same(const Rollout& a, const Rollout& b) {
  return a.sample == b.sample && a.finish == b.finish && a.text == b.text && a.facts == b.facts &&
         a.opening == b.opening && a.parent == b.parent && a.fork_token == b.fork_token &&
         a.placed == b.placed &&
         std::equal(a.turns.begin(), a.turns.end(), b.turns.begin(), b.turns.end(),
                    [](const Turn& x, const Turn& y) { return same(x, y); });
}
inline bool same(const Group& a, const Group& b) {
  return a.id == b.id && a.level == b.level && a.planned == b.planned && a.bin == b.bin &&
         a.stream_prompt == b.stream_prompt && a.from == b.from && a.start == b.start &&
         std::equal(a.rollouts.begin(), a.rollouts.end(), b.rollouts.begin(), b.rollouts.end(),
                    [](const Rollout& x, const Rollout& y) { return same(x, y); });
}
inline bool same(const ShardPrompt& a, const ShardPrompt& b) {
  return a.text == b.text && a.answer == b.answer && a.shown == b.shown && a.extra == b.extra;
}
inline bool same(const Score& a, const Score& b) {
  return a.components == b.components && a.reward == b.reward && a.correct == b.correct &&
         a.answer == b.answer && a.undecided == b.undecided && a.reason == b.reason &&
         a.clock_ended == b.clock_ended;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

inline std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void put(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// The message of the StorageError that `f` throws; empty when it throws none.
template <class F>
std::string fault_of(F&& f) {
  try {
    f();
  } catch (const StorageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace rollcall::io::test
