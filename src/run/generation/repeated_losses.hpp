// Conversations that a clock or a crash ended in a step that a stop left unfinished. A run that
// draws the step again loses them in the same place, so that its bits are those of a run without
// the stop. Losses by a failure of the machine are not repeated.
#pragma once

#include "environment/talk.hpp"
#include "run/context/run_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rollcall::run {

class RepeatedLosses {
 public:
  /// Reads the shards of RUN/set_aside where the environment is a command or runs in the sandbox.
  explicit RepeatedLosses(const RunContext& context);
  /// The answer that lost this conversation at this turn, if its actions so far are the same.
  std::optional<environment::Answer> find(const environment::Talk& talk) const;

 private:
  struct Lost {
    std::uint64_t actions = 0;  ///< hash of all actions up to the lost one
    environment::Answer answer{};
  };
  std::map<std::string, Lost> stored_;  ///< by Talk::id
};

}  // namespace rollcall::run
