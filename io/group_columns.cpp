// Walks through the ragged tables of groups, rollouts, turns and tokens, with one cursor for each.
#include "io/group_columns.hpp"

#include "base/errors/error.hpp"
#include "io/conversation_rows.hpp"
#include "io/handle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

namespace rollcall::io {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();

std::uint32_t narrow(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw FileFault(fmt::format("{} rows in one parent row exceed 32 bits", count));
  return std::uint32_t(count);
}

void append_text(const std::string& text, std::vector<std::uint32_t>& lengths,
                 std::vector<std::uint8_t>& bytes) {
  lengths.push_back(narrow(text.size()));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

template <class T>
void extend(std::vector<T>& column, const std::vector<T>& values) {
  column.insert(column.end(), values.begin(), values.end());
}

void append(const Turn& turn, RolloutColumns& c) {
  const std::size_t tokens = turn.tokens.size(), valued = turn.role == Role::policy ? tokens : 0;
  expect(turn.columns.logprob.size() == valued && turn.columns.entropy.size() == valued &&
             turn.policy_version.size() == valued,
         "policy turns, and only those, have a value per token in every column");
  c.role.push_back(std::int8_t(turn.role));
  c.token_count.push_back(narrow(tokens));
  extend(c.id, turn.tokens);
  extend(c.logprob, turn.columns.logprob);
  extend(c.entropy, turn.columns.entropy);
  extend(c.policy_version, turn.policy_version);
  c.logprob.resize(c.id.size(), kNoValue);
  c.entropy.resize(c.id.size(), kNoValue);
  c.policy_version.resize(c.id.size(), 0);
  expect((turn.kept_mass.empty() || turn.kept_mass.size() == valued) &&
             turn.kept.end.size() <= turn.kept_mass.size(),
         "where tokens were left out, every token of a policy turn says how much was left");
  c.kept_count.push_back(narrow(turn.kept_mass.size()));
  extend(c.kept_mass, turn.kept_mass);
  for (std::size_t t = 0; t < turn.kept_mass.size(); ++t)
    c.id_count.push_back(narrow(turn.kept.of(t).size()));
  extend(c.kept_id, turn.kept.id);
}

/// Returns consecutive stretches of a column.
template <class T>
struct Cursor {
  const std::vector<T>& column;
  std::size_t position = 0;
  std::vector<T> take(std::size_t n) {
    const auto first = column.begin() + std::ptrdiff_t(position);
    position += n;
    return {first, first + std::ptrdiff_t(n)};
  }
  T take_one() { return column[position++]; }
  std::string take_text(std::size_t n) {
    const auto first = column.begin() + std::ptrdiff_t(position);
    position += n;
    return {first, first + std::ptrdiff_t(n)};
  }
};

struct Walk {
  const RolloutColumns& c;
  std::size_t rollout = 0, turn = 0;
  Cursor<std::int32_t> id{c.id};
  Cursor<float> logprob{c.logprob}, entropy{c.entropy};
  Cursor<std::uint64_t> version{c.policy_version};
  Cursor<std::uint8_t> completion{c.completion};
  Cursor<float> kept_mass{c.kept_mass};
  Cursor<std::uint32_t> id_count{c.id_count};
  Cursor<std::int32_t> kept_id{c.kept_id};
  ConversationWalk conversation{c.conversation};

  void read_kept(Turn& made) {
    const std::size_t count = c.kept_count[turn];
    if (count != 0 && (made.role != Role::policy || count != made.tokens.size()))
      throw FileFault(fmt::format("turns/kept_count is {} at row {}, whose turn has {} tokens",
                                  count, turn, made.tokens.size()));
    made.kept_mass = kept_mass.take(count);
    for (std::size_t t = 0; t < count; ++t) {
      const auto ids = kept_id.take(id_count.take_one());
      if (!ids.empty() && !std::binary_search(ids.begin(), ids.end(), made.tokens[t]))
        throw FileFault(
            fmt::format("the token {} is not among the {} of kept_ids that it was drawn from",
                        made.tokens[t], ids.size()));
      made.kept.put(t, ids);
    }
  }
  Turn next_turn() {
    const std::size_t n = c.token_count[turn];
    Turn made{.role = Role(c.role[turn]),
              .tokens = id.take(n),
              .columns = {.logprob = logprob.take(n), .entropy = entropy.take(n)},
              .policy_version = version.take(n)};
    if (made.role != Role::policy) {
      made.columns = {};
      made.policy_version.clear();
    }
    read_kept(made);
    ++turn;
    return made;
  }
  Rollout next_rollout(std::uint32_t sample) {
    Rollout made{.sample = sample,
                 .finish = FinishReason(c.finish[rollout]),
                 .turns = {},
                 .text = completion.take_text(c.completion_bytes[rollout])};
    for (std::uint32_t t = 0; t < c.turn_count[rollout]; ++t) made.turns.push_back(next_turn());
    conversation.next(made);
    ++rollout;
    return made;
  }
};

}  // namespace

void check_group_rows(const KeyColumns& keys) {
  std::size_t rollout = 0;
  for (std::size_t g = 0; g < keys.rollout_count.size(); ++g)
    for (std::uint32_t i = 0; i < keys.rollout_count[g]; ++i, ++rollout)
      if (keys.group[rollout] != g)
        throw FileFault(fmt::format(
            "rollouts/group says {} at row {}, which groups/rollout_count puts into group {}",
            keys.group[rollout], rollout, g));
}

void check_order(const KeyColumns& keys) {
  const auto key = [&](std::size_t g) {
    return std::tuple(keys.step[g], keys.prompt_id[g], keys.draw[g]);
  };
  for (std::size_t g = 1; g < keys.step.size(); ++g)
    if (key(g) <= key(g - 1))
      throw FileFault(fmt::format(
          "row {} of groups does not follow the row before it in order of step, prompt and draw",
          g));
  for (std::size_t r = 1; r < keys.sample.size(); ++r)
    if (keys.group[r] == keys.group[r - 1] && keys.sample[r] <= keys.sample[r - 1])
      throw FileFault(fmt::format(
          "row {} of rollouts does not follow the row before it in order of sample", r));
}

void append(const Group& group, KeyColumns& keys) {
  const std::uint32_t row = narrow(keys.step.size());
  keys.step.push_back(group.id.step);
  keys.prompt_id.push_back(group.id.prompt.value);
  keys.draw.push_back(group.id.draw);
  keys.rollout_count.push_back(narrow(group.rollouts.size()));
  for (const Rollout& rollout : group.rollouts) {
    keys.group.push_back(row);
    keys.sample.push_back(rollout.sample);
  }
}

void append(const Group& group, const ShardPrompt& prompt, float temperature, RolloutColumns& c) {
  c.level.push_back(group.level);
  c.temperature.push_back(temperature);
  c.planned.push_back(group.planned);
  c.bin.push_back(group.bin);
  c.stream_prompt.push_back(group.stream_prompt);
  append_text(prompt.text, c.prompt_bytes, c.prompt);
  append_text(prompt.answer, c.reference_bytes, c.reference);
  append_text(prompt.shown, c.shown_bytes, c.shown);
  append_text(prompt.extra, c.extra_bytes, c.extra);
  append_origin(group, c.conversation);
  for (const Rollout& rollout : group.rollouts) {
    c.finish.push_back(std::int8_t(rollout.finish));
    c.turn_count.push_back(narrow(rollout.turns.size()));
    append_text(rollout.text, c.completion_bytes, c.completion);
    for (const Turn& turn : rollout.turns) append(turn, c);
    append_facts(rollout, c.conversation);
  }
}

void append(const std::vector<Score>& scores, std::size_t components, ScoreColumns& c) {
  for (const Score& score : scores) {
    expect(score.components.size() == components, "a score has one value per component name");
    c.reward.push_back(score.reward);
    c.correct.push_back(score.correct ? 1 : 0);
    append_text(score.answer, c.extracted_bytes, c.extracted);
    extend(c.components, score.components);
    c.undecided.push_back(score.undecided ? 1 : 0);
    append_text(score.reason, c.reason_bytes, c.reason);
    c.clock_ended.push_back(score.clock_ended ? 1 : 0);
  }
}

std::vector<Group> groups_of(const KeyColumns& keys, const RolloutColumns& rollouts) {
  check_group_rows(keys);
  check_conversations(rollouts);
  std::vector<Group> groups;
  Walk walk{rollouts};
  for (std::size_t g = 0; g < keys.step.size(); ++g) {
    Group& group =
        groups.emplace_back(Group{.id = {keys.step[g], {keys.prompt_id[g]}, keys.draw[g]},
                                  .level = rollouts.level[g],
                                  .rollouts = {},
                                  .planned = rollouts.planned[g],
                                  .bin = rollouts.bin[g],
                                  .stream_prompt = rollouts.stream_prompt[g]});
    walk.conversation.next(group);
    for (std::uint32_t i = 0; i < keys.rollout_count[g]; ++i)
      group.rollouts.push_back(walk.next_rollout(keys.sample[walk.rollout]));
  }
  return groups;
}

std::vector<ShardPrompt> prompts_of(const RolloutColumns& c) {
  std::vector<ShardPrompt> prompts;
  Cursor<std::uint8_t> prompt{c.prompt}, reference{c.reference}, shown{c.shown}, extra{c.extra};
  for (std::size_t g = 0; g < c.level.size(); ++g)
    prompts.push_back({.text = prompt.take_text(c.prompt_bytes[g]),
                       .answer = reference.take_text(c.reference_bytes[g]),
                       .shown = shown.take_text(c.shown_bytes[g]),
                       .extra = extra.take_text(c.extra_bytes[g])});
  return prompts;
}

std::vector<std::vector<Score>> scores_of(const KeyColumns& keys, const ScoreColumns& c,
                                          std::size_t components) {
  check_group_rows(keys);
  std::vector<std::vector<Score>> scores(keys.step.size());
  Cursor<double> component{c.components};
  Cursor<std::uint8_t> extracted{c.extracted}, reason{c.reason};
  for (std::size_t r = 0; r < keys.group.size(); ++r)
    scores[keys.group[r]].push_back({.components = component.take(components),
                                     .reward = c.reward[r],
                                     .correct = c.correct[r] != 0,
                                     .answer = extracted.take_text(c.extracted_bytes[r]),
                                     .undecided = c.undecided[r] != 0,
                                     .reason = reason.take_text(c.reason_bytes[r]),
                                     .clock_ended = c.clock_ended[r] != 0});
  return scores;
}

}  // namespace rollcall::io
