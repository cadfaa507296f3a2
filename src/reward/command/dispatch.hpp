// Which process of a verifier's command judges what, and what becomes of a rollout whose process
// dies or is too slow: decisions only, no processes and no clock.
#pragma once

#include "reward/command/message.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::reward {

using Ticket = std::uint64_t;  ///< of a sample: numbers from 0, in the order in which samples come

/// How a verdict came about. `clock` is the one cause that a repetition might not have.
enum class Cause : std::uint8_t { replied, clock, died, malformed };

struct Verdict {
  Cause cause = Cause::replied;
  Reply reply{};         ///< undecided unless the command replied
  double seconds = 0.0;  ///< from the moment a process was given the sample
};

/// The judging ended on this answer, which may have brought that about, and nobody has said of it
/// that it cannot be told (Score::clock_ended).
inline bool has_ended_the_judging(const Verdict& verdict) {
  return verdict.cause != Cause::replied || (verdict.reply.undecided && verdict.reply.ended);
}

struct Dispatch {
  enum class Phase : std::uint8_t { absent, ready, busy };
  struct Process {
    Phase phase = Phase::absent;
    bool fresh = true;  ///< has judged nothing yet
    Ticket ticket = 0;
    double since_s = 0.0;
  };
  std::vector<Process> processes{};
  std::deque<Ticket> waiting{};
  Ticket next = 0;
  double timeout_s = 0.0;
  std::size_t components = 0;  ///< of a reply
};
Dispatch make_dispatch(std::size_t processes, double timeout_s, std::size_t components);

namespace event {
struct Added {  ///< so many more samples
  std::uint64_t samples = 0;
};
struct Replied {
  std::size_t process = 0;
  Reply reply{};
};
struct Failed {  ///< it died, or wrote what cannot be used: it must not go on
  std::size_t process = 0;
  Cause cause = Cause::died;
  std::string how{};
};
struct Passed {};  ///< time
}  // namespace event
struct Event {
  double now_s = 0.0;  ///< of any monotonic clock
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
struct End {  ///< with all that it has started
  std::size_t process = 0;
};
struct Settle {
  Ticket ticket = 0;
  Verdict verdict{};
};
}  // namespace action
using Action = std::variant<action::Start, action::Send, action::End, action::Settle>;

/// The actions in the order in which they must be taken. Processes pull: whoever is free gets the
/// next sample, so a slow verdict holds up its own process alone. A sample whose process fails is
/// given to a fresh one, and counts as undecided when that fails too: a verdict depends on the
/// sample, not on what its process had judged before, on their number, or on the order of events. A
/// verdict that takes too long is undecided at once.
std::vector<Action> advance(Dispatch& state, const Event& event);

/// When the next Passed is due; infinity while nothing is being judged.
double next_deadline_s(const Dispatch& state);

}  // namespace rollcall::reward
