// One rollout while it is sampled: the turns so far, what the environment said, and the limits. It
// decides what follows a turn, and knows no session, thread or process.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "environment/talk.hpp"
#include "model/decode/replies.hpp"
#include "text/chat/turn_texts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::run {

/// The limits of a conversation. Each holds for the whole rollout, except the last one.
struct TurnLimits {
  std::int64_t turns = 1;    ///< policy turns
  std::int64_t sampled = 0;  ///< tokens of the policy, with those that were given to it
  std::int64_t all = 0;      ///< tokens after the prompt, whoever said them
  std::int64_t turn = 0;     ///< sampled tokens of one turn; 0: no limit of its own
};
/// Those of a rollout after a prompt of `prompt` tokens, where a sequence has at most `positions`.
TurnLimits turn_limits(const RunConfig& config, const SamplingParams& sampling,
                       std::int64_t positions, std::int64_t prompt);

/// Returns the largest number of policy turns in the plan's conversations. In training it may grow
/// with environment.turns_every (TCOD, forward to backward); otherwise it is environment.max_turns.
std::int64_t most_turns(const EnvironmentSection& section, const StepPlan& plan);

/// The number by which facts tell states and actions apart: a 64-bit hash of the text, never 0.
std::uint64_t fact_hash(std::string_view text);

/// A stretch of the sampled tokens that is one policy turn, with the environment's reading of it
/// and what was said next.
struct PlayedTurn {
  std::size_t begin = 0, end = 0;  ///< sampled tokens
  TurnFacts facts{};
  std::vector<std::int32_t> said{};  ///< tokens after it; empty: it was the last, or they did not
                                     ///< fit
  std::uint64_t state_after = 0;     ///< hash, as in TurnFacts; 0: the environment was not asked
};

class Conversation {
 public:
  /// `given`: tokens that the first turn begins with, which nobody samples.
  Conversation(environment::Talk talk, const TurnLimits& limits, std::vector<std::int32_t> given)
      : talk_(std::move(talk)), limits_(limits), given_(std::move(given)) {}

  const environment::Talk& talk() const { return talk_; }
  /// Takes the environment's answer to the start. To be called before the first turn. Returns the
  /// text that the policy is shown in place of the prompt's text, or an empty string for the
  /// prompt's text.
  std::string begin(environment::Answer answer);
  /// Sets the limits, once the prompt's length is known. To be called before the first turn. If
  /// they leave no token to sample, the conversation is over.
  void limit(const TurnLimits& limits);

  /// Ends the conversation before its first turn, because of the environment's answer to the start.
  void lose_start(environment::Loss loss, std::string reason);

  /// Called when a turn of the policy has ended. Returns whether the environment is to be asked
  /// about it. A turn that a token limit cut is no action and ends the conversation.
  bool hear(std::span<const std::int32_t> sampled, std::size_t turn, bool stopped,
            const text::TurnTexts& texts);
  /// Takes the environment's answer to that action. Returns how the sequence continues.
  model::Reply take(environment::Answer answer, const text::TurnTexts& texts);

  bool over() const { return over_; }
  FinishReason finish() const { return finish_; }
  const std::vector<PlayedTurn>& turns() const { return turns_; }
  /// Why the environment gave no start; flags and reason are set. Nothing: it gave one.
  const std::optional<TurnFacts>& lost_start() const { return lost_start_; }
  /// Tokens that the next turn may sample; 0 or less: none.
  std::int64_t room() const;
  /// Whether a copy can go on after `sampled` tokens: the environment has handed out the state in
  /// which the copy is asked next, or has answered no action yet. A state that it keeps to itself
  /// is known only to the seeds of this conversation.
  bool may_fork(std::size_t sampled) const;
  /// A conversation that shares its first turns with this one, up to `sampled` tokens. If these end
  /// within a turn, that turn continues in the copy.
  Conversation forked(std::size_t sampled, std::string id, environment::Seeds seeds) const;

 private:
  void hear_said(const environment::Answer& answer);
  model::Reply end(FinishReason finish);
  std::uint64_t state_hash() const;

  environment::Talk talk_;
  TurnLimits limits_;
  std::vector<std::int32_t> given_;
  std::int64_t said_ = 0;        ///< tokens
  std::size_t begun_ = 0;        ///< sampled tokens of a turn that continues in a copy
  std::int32_t last_token_ = 0;  ///< of the turn that the environment was asked about
  std::vector<PlayedTurn> turns_;
  std::vector<std::optional<std::string>> states_;  ///< after the start and each answered action
  std::optional<TurnFacts> lost_start_;
  bool over_ = false;
  FinishReason finish_ = FinishReason::stop;
};

}  // namespace rollcall::run
