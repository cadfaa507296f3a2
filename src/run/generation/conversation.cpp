// The rules by which a conversation continues and ends.
#include "run/generation/conversation.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "sizing/lengths.hpp"

#include <algorithm>
#include <limits>

namespace rollcall::run {
namespace {

/// The flags of the turn in which a loss happened.
std::int64_t flags_of(environment::Loss loss) {
  using environment::Loss;
  switch (loss) {
    case Loss::none:
    case Loss::machine: return 0;
    case Loss::told:
    case Loss::changed: return turn_flag::error;
    case Loss::clock: return turn_flag::ended | turn_flag::by_clock;
    case Loss::died:
    case Loss::malformed: return turn_flag::ended;
  }
  return turn_flag::ended;
}

}  // namespace

TurnLimits turn_limits(const RunConfig& config, const SamplingParams& sampling,
                       std::int64_t positions, std::int64_t prompt) {
  return {.turns = config.environment.max_turns,
          .sampled = sampling.max_new_tokens,
          .all = std::min(sizing::answer_tokens(config, positions, prompt), positions - prompt),
          .turn = sampling.turn_tokens};
}

std::int64_t most_turns(const EnvironmentSection& section, const StepPlan& plan) {
  const bool grows = section.turns_every > 0 && plan.split == Split::train;
  if (!grows) return section.max_turns;
  return std::min(1 + std::int64_t(plan.step - 1) / section.turns_every, section.max_turns);
}

std::uint64_t fact_hash(std::string_view text) {
  return std::max<std::uint64_t>(checksum64(text), 1);
}

std::uint64_t Conversation::state_hash() const {
  if (talk_.state) return fact_hash(*talk_.state);
  return fact_hash(talk_.said.empty() ? std::string_view() : talk_.said.back());
}

void Conversation::hear_said(const environment::Answer& answer) {
  talk_.state = answer.state;
  talk_.said.push_back(answer.text);
  states_.push_back(answer.state);
}

model::Reply Conversation::end(FinishReason finish) {
  over_ = true;
  finish_ = finish;
  return {};
}

std::string Conversation::begin(environment::Answer answer) {
  expect(talk_.said.empty() && turns_.empty(), "a conversation begins once");
  if (answer.loss == environment::Loss::none)
    if (std::string wrong = environment::wrong_start(answer); !wrong.empty())
      answer.loss = environment::Loss::malformed, answer.reason = std::move(wrong);
  if (answer.loss != environment::Loss::none) {
    lose_start(answer.loss, std::move(answer.reason));
    return {};
  }
  hear_said(answer);
  return std::move(answer.text);
}

void Conversation::lose_start(environment::Loss loss, std::string reason) {
  expect(turns_.empty(), "a start is lost before the first turn");
  lost_start_ = TurnFacts{.flags = flags_of(loss), .reason = std::move(reason)};
  end(FinishReason::lost);
}

void Conversation::limit(const TurnLimits& limits) {
  expect(turns_.empty(), "limits are known before the first turn");
  limits_ = limits;
  if (!over_ && room() < 1) end(FinishReason::length);
}

bool Conversation::hear(std::span<const std::int32_t> sampled, std::size_t turn, bool stopped,
                        const text::TurnTexts& texts) {
  expect(!over_ && turn < sampled.size(), "a turn that was sampled is heard");
  const bool is_first = turns_.empty();
  turns_.push_back({.begin = turn, .end = sampled.size(), .facts = {.state = state_hash()}});
  begun_ = 0;
  if (!stopped) {
    end(FinishReason::length);
    return false;
  }
  last_token_ = sampled.back();
  // The beginning that was given belongs to the first action.
  std::vector<std::int32_t> tokens = is_first ? given_ : std::vector<std::int32_t>();
  tokens.insert(tokens.end(), sampled.begin() + std::ptrdiff_t(turn), sampled.end());
  talk_.actions.push_back(texts.action_text(tokens));
  turns_.back().facts.action = fact_hash(talk_.actions.back());
  return true;
}

model::Reply Conversation::take(environment::Answer answer, const text::TurnTexts& texts) {
  expect(!over_ && !turns_.empty() && talk_.actions.size() == talk_.said.size(),
         "an answer is to an action that waits for one");
  PlayedTurn& turn = turns_.back();
  turn.facts.reason = std::move(answer.reason);
  if (answer.loss != environment::Loss::none) {
    turn.facts.flags |= flags_of(answer.loss);
    return end(FinishReason::lost);
  }
  turn.facts.reward = answer.reward;
  turn.facts.components = std::move(answer.components);
  turn.facts.flags |= answer.flags;
  turn.facts.kind = answer.kind;
  if (answer.correct)
    turn.facts.flags |= turn_flag::decided | (*answer.correct ? turn_flag::correct : 0);
  hear_said(answer);
  turn.state_after = state_hash();
  if (answer.done) return end(FinishReason::stop);
  if (std::int64_t(turns_.size()) >= limits_.turns) return end(FinishReason::turns);
  const text::Said message{texts.role(), answer.text};
  auto tokens = texts.between(std::span(&last_token_, 1), std::span(&message, 1));
  said_ += std::int64_t(tokens.size());
  if (room() < 1) {
    said_ -= std::int64_t(tokens.size());
    return end(FinishReason::length);
  }
  turn.said = tokens;
  return {.over = false, .said = std::move(tokens), .most = room()};
}

std::int64_t Conversation::room() const {
  const std::int64_t before = turns_.empty() ? 0 : std::int64_t(turns_.back().end),
                     drawn = std::int64_t(given_.size() + begun_) + before,
                     turn = limits_.turn > 0 ? limits_.turn - std::int64_t(begun_)
                                             : std::numeric_limits<std::int64_t>::max();
  return std::min({limits_.sampled - drawn, limits_.all - drawn - said_, turn});
}

bool Conversation::may_fork(std::size_t sampled) const {
  const auto shared = std::size_t(std::count_if(
      turns_.begin(), turns_.end(), [&](const PlayedTurn& turn) { return turn.end <= sampled; }));
  return shared == 0 || (shared < states_.size() && states_[shared].has_value());
}

Conversation Conversation::forked(std::size_t sampled, std::string id,
                                  environment::Seeds seeds) const {
  Conversation copy = *this;
  copy.talk_.id = std::move(id), copy.talk_.seeds = seeds;
  copy.over_ = false, copy.finish_ = FinishReason::stop;
  while (!copy.turns_.empty() && copy.turns_.back().end > sampled) copy.turns_.pop_back();
  const std::size_t turns = copy.turns_.size(),
                    answered = std::min(turns + 1, copy.talk_.said.size());
  copy.begun_ = sampled - (turns == 0 ? 0 : copy.turns_.back().end);
  copy.talk_.actions.resize(std::min(turns, copy.talk_.actions.size()));
  copy.talk_.said.resize(answered), copy.states_.resize(answered);
  copy.talk_.state = answered == 0 ? std::nullopt : copy.states_.back();
  copy.said_ = 0;
  for (const PlayedTurn& turn : copy.turns_) copy.said_ += std::int64_t(turn.said.size());
  return copy;
}

}  // namespace rollcall::run
