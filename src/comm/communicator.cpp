// What every communicator shares: the deadline of a wait and what its error says.
#include "comm/communicator.hpp"

#include "base/error.hpp"
#include "comm/backoff.hpp"

#include <fmt/format.h>

namespace rollcall::comm {

void Communicator::wait(const std::function<bool()>& done, double deadline_s, const std::string& waiting_for, const std::function<void()>& on_idle) {
  Backoff backoff;
  while (!done()) {
    const double waited = backoff.waited_s();
    if (waited >= deadline_s) {
      waited_s_ += waited;
      throw ProtocolError(error_message(fmt::format("rank {} waited {:.3g} s for {}", world_rank(), waited, waiting_for), call_the_roll("for " + waiting_for),
                                        "look at that rank's node and its last log line, or raise run.deadline_s"));
    }
    const double pause_s = backoff.pause_s();
    if (pause_s > 0) {
      if (on_idle) on_idle();
      say_waiting("for " + waiting_for);
    }
    pause(pause_s);
  }
  waited_s_ += backoff.waited_s();
  activity_->wait_ended();
}

Envelope Communicator::receive(double deadline_s, const std::string& waiting_for, const std::function<void()>& on_idle) {
  std::optional<Envelope> envelope;
  wait([&] { return (envelope = try_receive()).has_value(); }, deadline_s, waiting_for, on_idle);
  return std::move(*envelope);
}

void Communicator::pause(double seconds) { give_way(seconds); }

}  // namespace rollcall::comm
