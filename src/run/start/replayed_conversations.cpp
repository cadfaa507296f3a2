// A conversation is played by the same rules as during sampling (run/generation/conversation), but
// without limits, because the cause of its end is in the archive.
#include "run/start/replayed_conversations.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/numbers/hash.hpp"
#include "io/schema.hpp"
#include "run/generation/conversation_seeds.hpp"
#include "run/messages/purposes.hpp"
#include "run/scoring/repeated_verdicts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace rollcall::run {
namespace {

constexpr std::size_t kMostOpen = 256;  // conversations that wait for answers at the same time
constexpr double kLook_s = 1.0;         // for which it sleeps until an answer comes
constexpr TurnLimits kNoLimits{.turns = std::numeric_limits<std::int64_t>::max(),
                               .sampled = std::numeric_limits<std::int64_t>::max() / 4,
                               .all = std::numeric_limits<std::int64_t>::max() / 4,
                               .turn = 0};

bool is_given(const Rollout& rollout, std::size_t turn) {
  return (rollout.facts[turn].flags & turn_flag::given) != 0;
}

bool is_sampled(const Rollout& rollout, std::size_t turn) {
  return rollout.turns[turn].role == Role::policy && !is_given(rollout, turn);
}

/// The turn that ends an action; it has the facts.
std::size_t last_turn(const ActionTurns& action) { return action.last - 1; }

/// Whether an environment answered the rollout, or was to.
bool is_conversation(const Rollout& rollout) {
  return std::any_of(rollout.facts.begin(), rollout.facts.end(),
                     [](const TurnFacts& facts) { return facts.state != 0; });
}

/// Whether the environment's turn follows the action.
bool is_answered(const Rollout& rollout, const ActionTurns& action) {
  return action.last < rollout.turns.size() && rollout.turns[action.last].role == Role::environment;
}

/// The tokens before those that were sampled.
std::vector<std::int32_t> given_of(const Rollout& rollout, const ActionTurns& action) {
  std::vector<std::int32_t> given;
  for (std::size_t t = action.first; t < action.last && !is_sampled(rollout, t); ++t)
    given.insert(given.end(), rollout.turns[t].tokens.begin(), rollout.turns[t].tokens.end());
  return given;
}

/// The rollout that took an action first, where `policy` policy tokens end with the action: this
/// rollout, or a rollout from which it was forked later.
const Rollout& first_of(const Group& group, const Rollout& rollout, std::int64_t policy) {
  const Rollout* one = &rollout;
  // A parent is sampled before its forks, so this loop ends.
  for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
    if (one->parent < 0 || policy > one->fork_token) break;
    const auto parent =
        std::find_if(group.rollouts.begin(), group.rollouts.end(),
                     [&](const Rollout& other) { return other.sample == one->parent; });
    if (parent == group.rollouts.end()) break;
    one = &*parent;
  }
  return *one;
}

/// "reward 1, and the archive has 0"; empty if both are equal.
template <class T>
std::string other(const char* what, const T& now, const T& stored) {
  return now == stored ? std::string()
                       : fmt::format("{} {}, and the archive has {}", what, now, stored);
}

std::string other_hash(const char* what, std::uint64_t now, std::uint64_t stored) {
  return other(what, hex64(now), hex64(stored));
}

/// The first of the descriptions that is not empty.
std::string first_said(std::initializer_list<std::string> differences) {
  for (const std::string& one : differences)
    if (!one.empty()) return one;
  return {};
}

/// The difference between the environment's facts about a turn now and in the archive.
std::string difference(const TurnFacts& now, const TurnFacts& stored) {
  return first_said({other_hash("state", now.state, stored.state),
                     other_hash("action", now.action, stored.action),
                     other("reward", now.reward, stored.reward),
                     other("flags", now.flags, stored.flags), other("kind", now.kind, stored.kind),
                     other("seat", now.seat, stored.seat),
                     other("components", now.components, stored.components)});
}

}  // namespace

ReplayedConversations::~ReplayedConversations() {
  for (auto& [number, playing] : open_) partner_->close(playing.talk->talk());
}

void ReplayedConversations::add(const io::ArchivedGroup& archived) {
  for (std::size_t i = 0; i < archived.group.rollouts.size(); ++i) {
    const Rollout& rollout = archived.group.rollouts[i];
    if (rollout.finish == FinishReason::lost) ++found_.lost;
    else if (is_conversation(rollout)) open(archived, i);
  }
}

void ReplayedConversations::open(const io::ArchivedGroup& archived, std::size_t index) {
  const Group& group = archived.group;
  const Rollout& rollout = group.rollouts[index];
  const Split split = split_of(archived.purpose);
  Playing playing;
  playing.name =
      fmt::format("{} step {}, prompt {}, draw {}, sample {}", io::text_of(archived.purpose),
                  archived.step, group.id.prompt.value, group.id.draw, rollout.sample);
  playing.prompt.id = group.id.prompt, playing.prompt.split = split;
  playing.prompt.level = group.level, playing.prompt.text = archived.prompt.text;
  playing.prompt.answer = archived.prompt.answer;
  playing.stored = rollout, playing.actions = actions_of(rollout);
  std::int64_t policy = 0;
  std::size_t turn = 0;
  for (const ActionTurns& action : playing.actions) {
    for (; turn < action.last; ++turn)
      if (rollout.turns[turn].role == Role::policy)
        policy += std::int64_t(rollout.turns[turn].tokens.size());
    const std::uint32_t sample = first_of(group, rollout, policy).sample;
    playing.seeds.push_back(
        conversation_seeds(seed_, {split, group.id, group.from, group.stream_prompt}, sample));
  }
  const std::uint64_t number = ++opened_;
  const auto opened = open_.emplace(number, std::move(playing)).first;
  // The talk points at the prompt, which does not move.
  environment::Talk talk{.id = sample_id(archived.purpose, group.id, rollout.sample),
                         .prompt = &opened->second.prompt,
                         .info = archived.prompt.extra,
                         .seeds = opened->second.seeds.front(),
                         .start = group.start};
  opened->second.talk.emplace(std::move(talk), kNoLimits,
                              given_of(rollout, opened->second.actions.front()));
  go_on(opened, ask(opened->second, number));
  while (open_.size() >= kMostOpen) await();
}

std::optional<environment::Answer> ReplayedConversations::ask(Playing& playing,
                                                              std::uint64_t number) {
  return partner_->ask(playing.talk->talk(), number, queue_);
}

/// Plays on with an answer until the next one is to be waited for, or to the end.
void ReplayedConversations::go_on(Open::iterator playing,
                                  std::optional<environment::Answer> answer) {
  Playing& one = playing->second;
  while (answer) {
    const std::size_t turn = one.next;
    const bool was_start = !one.has_begun;
    std::string found = take(one, std::move(*answer));
    if (!found.empty())
      return settle(playing,
                    was_start ? "start: " + found : fmt::format("turn {}: {}", turn, found));
    if (one.next == one.actions.size()) return settle(playing, {});
    if (!act(one)) {
      found = difference(one.talk->turns().back().facts,
                         one.stored.facts[last_turn(one.actions[one.next])]);
      return settle(playing, found.empty() ? found : fmt::format("turn {}: {}", one.next, found));
    }
    answer = ask(one, playing->first);
  }
}

/// Takes an answer, and returns its difference from the archive's answer; empty if they are equal.
std::string ReplayedConversations::take(Playing& playing, environment::Answer answer) {
  if (answer.loss != environment::Loss::none)
    return visible_format("the environment gave no answer{}{}", answer.reason.empty() ? "" : ": ",
                          answer.reason);
  if (!std::exchange(playing.has_begun, true)) {
    playing.talk->begin(std::move(answer));
    return playing.talk->over() ? "the conversation is over before its first turn" : "";
  }
  const Rollout& stored = playing.stored;
  const ActionTurns& action = playing.actions[playing.next++];
  const bool goes_on = playing.next < playing.actions.size(),
             ends = !goes_on && stored.finish == FinishReason::stop;
  playing.talk->take(std::move(answer), *texts_);
  const PlayedTurn& now = playing.talk->turns().back();
  std::string found = difference(now.facts, stored.facts[last_turn(action)]);
  if (found.empty())
    found = other_hash("state afterwards", now.state_after, stored.facts[action.last].state);
  if (found.empty() && playing.talk->over() != ends)
    found = ends ? "the conversation goes on, and in the archive it is over"
                 : "the conversation is over, and in the archive it is not";
  // The last text is not in the archive.
  if (found.empty() && goes_on && now.said != stored.turns[action.last].tokens)
    found = fmt::format("the policy is told tokens {}, and the archive has {}",
                        fmt::join(now.said, " "), fmt::join(stored.turns[action.last].tokens, " "));
  return found;
}

/// Says the next action. Returns whether the environment is to be asked about it.
bool ReplayedConversations::act(Playing& playing) {
  const ActionTurns& action = playing.actions[playing.next];
  const environment::Seeds& seeds = playing.seeds[playing.next];
  // The seeds change at the place where the rollout was forked from another.
  if (seeds.turns != playing.talk->talk().seeds.turns)
    playing.talk = playing.talk->forked(playing.sampled.size(), playing.talk->talk().id, seeds);
  const std::size_t begin = playing.sampled.size();
  for (std::size_t t = action.first; t < action.last; ++t)
    if (is_sampled(playing.stored, t))
      playing.sampled.insert(playing.sampled.end(), playing.stored.turns[t].tokens.begin(),
                             playing.stored.turns[t].tokens.end());
  require<StorageError>(
      playing.sampled.size() > begin,
      fmt::format("{}: turn {} has no token that was sampled", playing.name, playing.next),
      "no run writes such a turn", "rollcall archive verify says what is wrong");
  return playing.talk->hear(playing.sampled, begin, is_answered(playing.stored, action), *texts_);
}

void ReplayedConversations::settle(Open::iterator playing, const std::string& difference) {
  const auto& [number, one] = *playing;
  if (difference.empty()) {
    ++found_.equal;
  } else {
    ++found_.different;
    if (found_.first.empty() || number < first_) {
      first_ = number;
      found_.first = one.name + ", " + difference;
    }
  }
  partner_->close(one.talk->talk());
  open_.erase(playing);
}

void ReplayedConversations::await() {
  for (auto& [number, answer] : queue_.take(kLook_s)) {
    const auto playing = open_.find(number);
    expect(playing != open_.end(), "an answer is to a conversation that is open");
    go_on(playing, std::move(answer));
  }
}

const ReplayedConversations::Found& ReplayedConversations::finish() {
  while (!open_.empty()) await();
  return found_;
}

}  // namespace rollcall::run
