// Walks through the tables of facts, keeping one position in each.
#include "io/conversation_rows.hpp"

#include "base/errors/error.hpp"
#include "io/handle.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace rollcall::io {
namespace {

constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();

void append_text(const std::string& text, std::vector<std::int64_t>& lengths,
                 std::vector<std::uint8_t>& bytes) {
  lengths.push_back(std::int64_t(text.size()));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

std::string text_at(const std::vector<std::uint8_t>& bytes, std::size_t& at, std::int64_t length) {
  const auto first = bytes.begin() + std::ptrdiff_t(at);
  at += std::size_t(length);
  return {first, first + std::ptrdiff_t(length)};
}

void append(const TurnFacts& facts, ConversationColumns& c) {
  c.reward.push_back(facts.reward);
  c.state.push_back(std::bit_cast<std::int64_t>(facts.state));
  c.action.push_back(std::bit_cast<std::int64_t>(facts.action));
  c.flags.push_back(facts.flags & ~turn_flag::moved);
  c.action_kind.push_back(facts.kind);
  c.seat.push_back(facts.seat);
  c.component_count.push_back(std::int64_t(facts.components.size()));
  append_text(facts.reason, c.reason_bytes, c.reason);
  for (std::size_t k = 0; k < facts.components.size(); ++k) {
    c.component.push_back(std::int64_t(k));
    c.value.push_back(facts.components[k]);
  }
}

/// Throws FileFault unless every value lies in [least, most].
void check_range(const char* column, const std::vector<std::int64_t>& values, std::int64_t least,
                 std::int64_t most) {
  for (const std::int64_t value : values)
    if (value < least || value > most)
      throw FileFault(
          fmt::format("{} holds {}, which is not between {} and {}", column, value, least, most));
}

void check_components(const ConversationColumns& c) {
  std::size_t at = 0;
  for (const std::int64_t count : c.component_count)
    for (std::int64_t k = 0; k < count; ++k, ++at)
      if (c.component[at] != k)
        throw FileFault(fmt::format(
            "fact_components/name is {} at row {}, which is part {} of the reward of its turn",
            c.component[at], at, k));
}

}  // namespace

void append_origin(const Group& group, ConversationColumns& c) {
  const Derivation& from = group.from;
  c.kind.push_back(std::int64_t(from.kind));
  c.parent_step.push_back(std::int64_t(from.parent.step));
  c.parent_prompt.push_back(std::int64_t(from.parent.prompt.value));
  c.parent_draw.push_back(from.parent.draw);
  c.parent_sample.push_back(
      from.parent_sample == Derivation::kWholeGroup ? -1 : std::int64_t{from.parent_sample});
  c.tier.push_back(from.tier);
  c.placement.push_back(std::int64_t(from.placement));
  append_text(group.start, c.start_bytes, c.start);
}

void append_facts(const Rollout& rollout, ConversationColumns& c) {
  expect(rollout.facts.empty() || rollout.facts.size() == rollout.turns.size(),
         "all turns of a rollout have facts, or none has");
  c.opening.push_back(rollout.opening);
  c.parent.push_back(rollout.parent);
  c.fork_token.push_back(rollout.fork_token);
  c.fact_count.push_back(std::int64_t(rollout.facts.size()));
  for (const TurnFacts& facts : rollout.facts) append(facts, c);
}

void check_conversations(const RolloutColumns& rollouts) {
  constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
  const ConversationColumns& c = rollouts.conversation;
  check_range("groups/parent_step", c.parent_step, 0, kMost64);
  check_range("groups/parent_prompt", c.parent_prompt, 0, kMost64);
  check_range("groups/parent_draw", c.parent_draw, 0, kMost32);
  check_range("groups/parent_sample", c.parent_sample, -1, kMost32 - 1);
  check_range("groups/tier", c.tier, 0, std::numeric_limits<std::int32_t>::max());
  check_range("rollouts/opening", c.opening, 0, kMost64);
  check_range("rollouts/parent", c.parent, -1, kMost32);
  check_range("rollouts/fork_token", c.fork_token, -1, kMost64);
  for (std::size_t r = 0; r < c.fact_count.size(); ++r)
    if (c.fact_count[r] != 0 && c.fact_count[r] != std::int64_t{rollouts.turn_count[r]})
      throw FileFault(fmt::format("rollouts/fact_count is {} at row {}, which has {} turns",
                                  c.fact_count[r], r, rollouts.turn_count[r]));
  check_components(c);
}

void ConversationWalk::next(Group& group) {
  const std::size_t g = group_++;
  Derivation& from = group.from;
  from.kind = DerivedKind(c_->kind[g]);
  from.parent = {std::uint64_t(c_->parent_step[g]),
                 {std::uint64_t(c_->parent_prompt[g])},
                 std::uint32_t(c_->parent_draw[g])};
  from.parent_sample =
      c_->parent_sample[g] < 0 ? Derivation::kWholeGroup : std::uint32_t(c_->parent_sample[g]);
  from.tier = std::int32_t(c_->tier[g]);
  from.placement = Placement(c_->placement[g]);
  group.start = text_at(c_->start, start_byte_, c_->start_bytes[g]);
}

void ConversationWalk::next(Rollout& rollout) {
  const std::size_t r = rollout_++;
  rollout.opening = c_->opening[r];
  rollout.parent = c_->parent[r], rollout.fork_token = c_->fork_token[r];
  for (std::int64_t i = c_->fact_count[r]; i > 0; --i) rollout.facts.push_back(next_facts());
}

TurnFacts ConversationWalk::next_facts() {
  const std::size_t f = fact_++;
  TurnFacts facts{.reward = c_->reward[f],
                  .state = std::bit_cast<std::uint64_t>(c_->state[f]),
                  .action = std::bit_cast<std::uint64_t>(c_->action[f]),
                  .flags = c_->flags[f],
                  .kind = c_->action_kind[f],
                  .seat = c_->seat[f],
                  .reason = text_at(c_->reason, reason_byte_, c_->reason_bytes[f])};
  const auto first = c_->value.begin() + std::ptrdiff_t(component_);
  facts.components.assign(first, first + std::ptrdiff_t(c_->component_count[f]));
  component_ += facts.components.size();
  return facts;
}

}  // namespace rollcall::io
