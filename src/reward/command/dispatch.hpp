// Decides which process of a verifier's command judges which sample, and what happens to a sample
// whose process dies or is too slow. It decides only: it has no processes and no clock.
#pragma once

#include "reward/command/message.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::reward {

using Ticket = std::uint64_t;  ///< number of a sample, from 0, in the order in which samples come

/// How a verdict came about. After `clock`, the process being too slow, a repetition might end in
/// another way; after the other causes it would not.
enum class Cause : std::uint8_t { replied, clock, died, malformed };

struct Verdict {
  Cause cause = Cause::replied;
  Reply reply{};         ///< the command's; undecided if the command did not reply
  double seconds = 0.0;  ///< from the moment when a process was given the sample
};

/// Whether the judging ended abnormally on this answer, which may itself have caused that
/// (Score::clock_ended). It is false for a reply that the command left undecided by itself.
inline bool has_ended_the_judging(const Verdict& verdict) {
  return verdict.cause != Cause::replied || (verdict.reply.undecided && verdict.reply.ended);
}

struct Dispatch {
  enum class Phase : std::uint8_t { absent, ready, busy };
  struct Process {
    Phase phase = Phase::absent;
    bool fresh = true;  ///< the process has not judged anything yet
    Ticket ticket = 0;
    double since_s = 0.0;
  };
  std::vector<Process> processes{};
  std::deque<Ticket> waiting{};
  Ticket next = 0;
  double timeout_s = 0.0;
  std::size_t components = 0;  ///< number of components of a reply
};
Dispatch make_dispatch(std::size_t processes, double timeout_s, std::size_t components);

namespace event {
struct Added {  ///< `samples` more samples wait for a process
  std::uint64_t samples = 0;
};
struct Replied {
  std::size_t process = 0;
  Reply reply{};
};
struct Failed {  ///< the process died or wrote something unusable, and must be ended
  std::size_t process = 0;
  Cause cause = Cause::died;
  std::string how{};
};
struct Passed {};  ///< time
}  // namespace event
struct Event {
  double now_s = 0.0;  ///< by any monotonic clock
  std::variant<event::Added, event::Replied, event::Failed, event::Passed> what{};
};

namespace action {
struct Start {
  std::size_t process = 0;
};
struct Send {
  std::size_t process = 0;
  Ticket ticket = 0;
};
struct End {  ///< and all processes that it has started
  std::size_t process = 0;
};
struct Settle {
  Ticket ticket = 0;
  Verdict verdict{};
};
}  // namespace action
using Action = std::variant<action::Start, action::Send, action::End, action::Settle>;

/// Returns the actions that an event calls for, in the order in which they must be taken. A process
/// that is free gets the next sample, so a slow verdict delays its own process alone. A sample
/// whose process fails is given to a fresh process and counts as undecided if that one fails too.
/// So a verdict depends on the sample alone, and not on what its process judged before, on the
/// number of processes, or on the order of events. A sample whose verdict takes too long is
/// undecided at once.
std::vector<Action> advance(Dispatch& state, const Event& event);

/// When the next Passed is due, in seconds of the events' clock; infinity while nothing is being
/// judged.
double next_deadline_s(const Dispatch& state);

}  // namespace rollcall::reward
