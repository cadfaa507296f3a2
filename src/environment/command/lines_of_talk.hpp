// The lines that describe a conversation to a command, kept so that they can be written again.
#pragma once

#include "core/run_config.hpp"
#include "environment/command/message.hpp"
#include "environment/environment.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace rollcall::environment {

/// The traits that an environment states about itself if it is a command.
Traits traits_of(const EnvironmentSection& section);

/// A copy of a conversation up to its last action, so that the conversation itself may be destroyed
/// meanwhile. Line 0 is the reset, and line k the step of turn k - 1.
class LinesOfTalk {
 public:
  explicit LinesOfTalk(const Talk& talk) : reset_(reset_line(talk)), talk_(talk) {
    talk_.prompt = nullptr;
  }
  const std::string& id() const { return talk_.id; }
  /// Whether the last line is enough by itself, because it contains the state.
  bool has_state() const { return talk_.state.has_value(); }
  std::size_t count() const { return talk_.actions.size() + 1; }
  std::string line(std::size_t index) const {
    return index == 0 ? reset_ : step_line(talk_, std::uint32_t(index - 1));
  }
  /// Whether this answer to line `index` equals the one that the conversation has already received.
  bool was_said(std::size_t index, const Answer& answer) const {
    return !answer.done && !answer.state && talk_.said.at(index) == answer.text;
  }
  /// What is wrong with the turn that an answer to line `index` names; empty if nothing is.
  std::string wrong_turn(std::size_t index, const Parsed& parsed) const;
  std::string where() const;  ///< "turn 2" or "reset": what waits for an answer

 private:
  std::string reset_;
  Talk talk_;
};

}  // namespace rollcall::environment
