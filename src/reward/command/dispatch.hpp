// Decides which process of a command answers which request (for a verifier's command: judges which
// sample), and what happens to a request if its process dies or is too slow. It only decides, and
// has no processes and no clock.
#pragma once

#include "reward/command/message.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::reward {

using Ticket = std::uint64_t;  ///< number of a request, from 0, in order of arrival

/// The way in which a verdict came about. After `clock`, which means that the process was too slow,
/// a repetition might end differently. After the other causes it would not.
enum class Cause : std::uint8_t { replied, clock, died, malformed };

struct Verdict {
  Cause cause = Cause::replied;
  Reply reply{};         ///< the command's reply; undecided if it did not reply
  double seconds = 0.0;  ///< from the moment when a process was given the sample
};

/// Whether the judging ended abnormally on this answer, which may itself have caused that
/// (Score::clock_ended). It is false for a reply that the command itself left undecided.
inline bool has_ended_the_judging(const Verdict& verdict) {
  return verdict.cause != Cause::replied || (verdict.reply.undecided && verdict.reply.ended);
}

struct Dispatch {
  enum class Phase : std::uint8_t { absent, ready, busy };
  struct Open {  ///< a request that a process was given and has not yet answered
    Ticket ticket = 0;
    double since_s = 0.0;    ///< when it was given
    double allowed_s = 0.0;  ///< longest time from then on
    bool alone = true;       ///< the process had no other open request in the meantime
    bool dropped = false;    ///< its answer is no longer wanted
  };
  struct Process {
    Phase phase = Phase::absent;
    bool fresh = true;     ///< the process has not answered any request yet
    bool started = false;  ///< it has written something usable
    bool lone = false;     ///< the request it was given last is a repeated one, asked alone
    Ticket ticket = 0;     ///< the request that it was given last
    double heard_s = 0.0;  ///< when it answered last, or was given a request while it had none
    std::vector<Open> open{};
    std::deque<Ticket> homed{};  ///< requests that wait for this process
  };
  std::vector<Process> processes{};
  std::deque<Ticket> waiting{};  ///< requests for any process
  std::deque<Ticket> again{};    ///< requests to be asked again, each alone in a fresh process
  Ticket next = 0;
  double timeout_s = 0.0;
  std::size_t components = 0;  ///< number of components of a reply
  std::size_t most_open = 1;   ///< requests that a process may have at one time
  /// Number of processes that may be starting at one time: they were given a request and have
  /// answered nothing.
  std::size_t starting_at_once = std::numeric_limits<std::size_t>::max();
};
Dispatch make_dispatch(std::size_t processes, double timeout_s, std::size_t components);

namespace event {
struct Added {  ///< `samples` more requests wait for a process
  std::uint64_t samples = 0;
  /// The process that each must be given to while that process lives; if empty, any will do.
  std::vector<std::optional<std::size_t>> home{};
};
struct Replied {
  std::size_t process = 0;
  Reply reply{};
  std::optional<Ticket> ticket{};  ///< if empty, the only request that the process has
};
struct Heard {  ///< the process has answered part of a request, whose time limit starts again
  std::size_t process = 0;
  Ticket ticket = 0;
};
struct Dropped {  ///< the answer to this request is no longer wanted, and it is never settled
  Ticket ticket = 0;
};
struct Failed {  ///< the process died or wrote something unusable, and must be ended
  std::size_t process = 0;
  Cause cause = Cause::died;
  std::string how{};
};
struct Passed {};  ///< time has passed
}  // namespace event
struct Event {
  double now_s = 0.0;  ///< on any monotonic clock
  std::variant<event::Added, event::Replied, event::Failed, event::Passed, event::Heard,
               event::Dropped>
      what{};
};

namespace action {
struct Start {
  std::size_t process = 0;
};
struct Send {
  std::size_t process = 0;
  Ticket ticket = 0;
};
struct End {  ///< ends a process and all processes that it has started
  std::size_t process = 0;
};
struct Settle {
  Ticket ticket = 0;
  Verdict verdict{};
};
}  // namespace action
using Action = std::variant<action::Start, action::Send, action::End, action::Settle>;

/// Returns the actions that an event calls for, in the order in which they must be taken. A request
/// goes to its home, or else to an idle process, to a new one, or to the one with the fewest open
/// requests; among equals, to the one with the lowest number. So a slow verdict delays only its own
/// process.
///
/// A process fails if it ends, writes something unusable, or is too slow: it has open requests and
/// has answered nothing for timeout_s, or a request takes longer than timeout_s times the requests
/// that were open when it was given. Requests that were not alone in it are asked again, each alone
/// in a fresh process. One that was alone is undecided at once if the process was too slow or
/// fresh, and is asked again in a fresh one otherwise. So a verdict depends only on the request,
/// and not on the earlier requests of its process, on the number of processes, or on the order of
/// events.
std::vector<Action> advance(Dispatch& state, const Event& event);

/// The time at which the next Passed is due, in seconds on the events' clock; infinity while no
/// request is open.
double next_deadline_s(const Dispatch& state);

}  // namespace rollcall::reward
