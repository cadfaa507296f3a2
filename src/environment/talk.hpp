// A conversation between the policy and an environment, in the form that the environment receives,
// and the environment's answers.
#pragma once

#include "core/rollout.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::environment {

/// The addresses of a conversation's random numbers. Both are below 2^53, so that they are exact in
/// JSON.
struct Seeds {
  std::uint64_t start = 0;  ///< of the start; the rollouts of a group share it
  std::uint64_t turns = 0;  ///< of the turns; each rollout has its own
};

/// The seed of the step of turn `turn`, counted from 0.
std::uint64_t step_seed(const Seeds& seeds, std::uint32_t turn);

/// The way in which an environment failed to answer.
enum class Loss : std::uint8_t {
  none,
  told,       ///< it said that it cannot go on with this conversation
  machine,    ///< this machine failed, which says nothing about the environment
  clock,      ///< it took too long, even alone in a fresh process
  died,       ///< its process ended, and so did a fresh one
  malformed,  ///< its output cannot be used
  changed     ///< after a restart it did not repeat its earlier answers
};

/// An answer: to the start of a conversation, or to an action.
struct Answer {
  std::optional<std::string> state{};  ///< nothing: the environment does not reveal its state
  std::string text{};                  ///< text shown to the policy
  double reward = 0.0;
  bool done = false;
  std::optional<bool> correct{};  ///< nothing: it has not decided
  /// In the order of Traits::components; empty: it named none.
  std::vector<double> components{};
  std::int64_t flags = 0;  ///< turn_flag of the action, without `decided`, `correct` and `ended`
  std::int64_t kind = 0;   ///< of the action
  std::string reason{};    ///< the cause of a loss
  Loss loss = Loss::none;
};

/// Returns what is wrong with an answer to the start of a conversation. No turn has been taken yet
/// that it could end, pay or judge. Empty if nothing is wrong.
std::string wrong_start(const Answer& answer);

/// One conversation up to now. The driver owns it; environments read it.
struct Talk {
  std::string id;  ///< "train/12/347/0/3": purpose, step, prompt, draw, sample
  const Prompt* prompt = nullptr;
  std::string info{};  ///< JSON object of the prompt's row of a file; empty: it comes from none
  Seeds seeds{};
  std::string start{};                 ///< state to begin in; empty: the environment's own start
  std::optional<std::string> state{};  ///< now
  std::vector<std::string> actions{};  ///< texts of the policy's turns, the last one unanswered
  /// The environment's texts: at the start, then after each answered action.
  std::vector<std::string> said{};
};

}  // namespace rollcall::environment
