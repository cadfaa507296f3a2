// The counterpart of the policy in a conversation. An environment's state is a text, and its step
// is a pure function of state, action and seed. Therefore forks, restarts, replays and resumed runs
// need nothing else from it.
#pragma once

#include "core/rollout.hpp"
#include "environment/talk.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::environment {

/// The properties shared by all conversations of a run.
struct Traits {
  std::vector<std::string> components{};  ///< names of the parts of rewards that it may name
  std::vector<std::string> kinds{};       ///< names of the kinds of actions 1, 2, ...
  std::string role = "user";              ///< role of what it says in the chat: user or tool
  bool rewards = true;  ///< it pays; otherwise only the verifier does, for the last action
  bool decides = true;  ///< it may say whether the task is solved
};

/// An environment that answers at once. Its functions are pure, and any thread may call them. They
/// never throw for any action. A prompt or a state that they cannot use gives Loss::malformed.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Traits& traits() const = 0;
  /// The beginning of a conversation: a state, and the text shown to the policy in place of the
  /// prompt's text (empty: the prompt's text). `state`: the state to begin in; empty: prompt and
  /// seed decide.
  virtual Answer start(const Prompt& prompt, const std::string& state,
                       std::uint64_t seed) const = 0;
  /// The answer to the action of turn `turn`, counted from 0. `seed`: step_seed() of the turn.
  virtual Answer step(const Prompt& prompt, const std::string& state, std::string_view action,
                      std::uint64_t seed, std::uint32_t turn) const = 0;
  /// The action of an expert in a state, in turn `turn` of its conversation. Nothing if no action
  /// is known or the state cannot be used. The expert knows only what the policy can know about the
  /// state, and no secret.
  virtual std::optional<std::string> expert(const Prompt& /*prompt*/, const std::string& /*state*/,
                                            std::uint32_t /*turn*/) const {
    return std::nullopt;
  }
};

}  // namespace rollcall::environment
