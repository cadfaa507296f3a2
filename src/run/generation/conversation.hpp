// One rollout while it is sampled: the turns so far, what the environment said, and the limits. It
// decides what follows a turn, and knows no session, thread or process.
#pragma once

#include "core/run_config.hpp"
#include "environment/talk.hpp"
#include "model/decode/replies.hpp"
#include "text/chat/turn_texts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Limits of a conversation. Each holds for the whole rollout but for the last.
struct TurnLimits {
  std::int64_t turns = 1;    ///< policy turns
  std::int64_t sampled = 0;  ///< tokens of the policy, with those that were given to it
  std::int64_t all = 0;      ///< tokens after the prompt, whoever said them
  std::int64_t turn = 0;     ///< sampled tokens of one turn; 0: no limit of its own
};
TurnLimits turn_limits(const RunConfig& config, std::int64_t positions, std::int64_t prompt);

/// A stretch of the sampled tokens that is one policy turn, what was made of it, and what was said
/// next.
struct PlayedTurn {
  std::size_t begin = 0, end = 0;  ///< sampled tokens
  TurnFacts facts{};
  std::vector<std::int32_t> said{};  ///< tokens after it; empty: it was the last, or they did not
                                     ///< fit
  std::uint64_t state_after = 0;     ///< hash, as in TurnFacts; 0: the environment was not asked
};

class Conversation {
 public:
  Conversation(environment::Talk talk, const TurnLimits& limits, std::int64_t given)
      : talk_(std::move(talk)), limits_(limits), given_(given) {}

  const environment::Talk& talk() const { return talk_; }
  /// What the environment answered to the start; before the first turn. Returns what the policy is
  /// shown in place of the prompt's text; empty: that text.
  std::string begin(environment::Answer answer);

  /// A turn of the policy has ended. Returns whether the environment is to be asked about it. A
  /// turn that a token limit cut is no action and ends the conversation.
  bool hear(std::span<const std::int32_t> sampled, std::size_t turn, bool stopped,
            const text::TurnTexts& texts);
  /// The environment's answer to that action. Returns how the sequence goes on.
  model::Reply take(environment::Answer answer, const text::TurnTexts& texts);

  bool over() const { return over_; }
  FinishReason finish() const { return finish_; }
  const std::vector<PlayedTurn>& turns() const { return turns_; }
  /// Tokens that the next turn may sample; 0 or less: none.
  std::int64_t room() const;
  /// A conversation that shares its first turns with this one, up to `sampled` tokens. Where these
  /// end within a turn, that turn goes on in the copy.
  Conversation forked(std::size_t sampled, std::string id, environment::Seeds seeds) const;

 private:
  environment::Talk talk_;
  TurnLimits limits_;
  std::int64_t given_ = 0, said_ = 0;  ///< tokens
  std::vector<PlayedTurn> turns_;
  bool over_ = false;
  FinishReason finish_ = FinishReason::stop;
};

}  // namespace rollcall::run
