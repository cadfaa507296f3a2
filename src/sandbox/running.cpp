// One poll() loop for feeds, catches, the ending, the owner and the clock.
#include "sandbox/running.hpp"

#include "base/time/attended_clock.hpp"
#include "sandbox/pipes.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace rollcall::sandbox {

void feed(Feed& feed) {
  const ssize_t written =
      feed.rest.empty() ? 0 : ::write(*feed.descriptor, feed.rest.data(), feed.rest.size());
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) feed.rest.remove_prefix(std::size_t(written));
  if (written < 0 || feed.rest.empty()) {
    close_descriptor(*feed.descriptor);
  }
}

namespace {

enum class Got { some, nothing, too_much };

Got read_once(Catch& pipe) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(*pipe.descriptor, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::nothing;
  if (got <= 0) {
    close_descriptor(*pipe.descriptor);
    return Got::nothing;
  }
  const std::size_t room = pipe.most - pipe.bytes->size();
  pipe.bytes->append(buffer.data(), std::min(room, std::size_t(got)));
  return std::size_t(got) > room ? Got::too_much : Got::some;
}

}  // namespace

namespace {

// More than this time between two looks at the clock means that the job was suspended.
constexpr double kSuspended_s = 1.0;
// Time between two looks at the memory of a run's processes. It is short, since a program can fill
// several GB/s.
constexpr double kLook_s = 0.05;

/// Collects the facts that matter when the wall-clock limit ends a run. `late_s` is the time by
/// which poll() woke this worker too late, which is how long the worker itself waited for a
/// processor.
Waiting waiting_of(const Running& running, double late_s) {
  Waiting waiting{usage_of(*running.outside, running.pid), late_s, std::nullopt};
  if (!waiting.usage) waiting.pressure = pressure_of(*running.outside);
  if (waiting.usage) waiting.waited_s = std::max(late_s, waiting.usage->waited_s);
  return waiting;
}

bool is_too_large(const Running& running) {
  const auto usage = usage_of(*running.outside, running.pid);
  return usage && usage->processes > 1 && usage->memory > running.memory;
}

}  // namespace

End attend(Running& running, double wall_s, std::optional<Ending>& reported) {
  AttendedClock since(kSuspended_s);
  End forced = End::passed;
  double looked_at = 0.0, late_s = 0.0;
  const auto force = [&](End why) {
    if (forced == End::passed) forced = why;
    ::kill(running.pid, SIGKILL);
  };
  std::vector<pollfd> waits;
  for (;;) {
    waits.clear();
    waits.push_back({running.ending, POLLIN, 0});
    waits.push_back({running.owner, POLLRDHUP, 0});
    // A descriptor that is closed is -1, and poll() ignores it.
    for (const Feed& f : running.feeds) waits.push_back({*f.descriptor, POLLOUT, 0});
    for (const Catch& c : running.catches)
      waits.push_back({forced == End::passed ? *c.descriptor : -1, POLLIN, 0});
    const double now = since.seconds(), left = wall_s - now;
    if (forced != End::passed) {
      force(forced);
    } else if (left <= 0) {
      running.waiting = waiting_of(running, late_s);
      force(End::timed_out);
    } else if (now - looked_at >= kLook_s) {
      looked_at = now;
      if (is_too_large(running)) force(End::out_of_memory);
    }
    const double patience = std::min(std::max(0.0, forced == End::passed ? left : 1.0), kLook_s),
                 asleep = since.seconds();
    if (::poll(waits.data(), waits.size(), int(patience * 1e3) + 1) < 0 && errno != EINTR)
      ::_exit(1);
    late_s += std::max(0.0, since.seconds() - asleep - patience - kLook_s);
    if (waits[1].revents != 0) ::_exit(0);
    for (std::size_t i = 0; i < running.feeds.size(); ++i) {
      if (waits[2 + i].revents != 0) feed(running.feeds[i]);
    }
    for (std::size_t i = 0; i < running.catches.size(); ++i) {
      if (waits[2 + running.feeds.size() + i].revents != 0 &&
          read_once(running.catches[i]) == Got::too_much)
        force(End::output_limit);
    }
    if (waits[0].revents != 0) {
      Ending ending;
      if (::read(running.ending, &ending, sizeof ending) == sizeof ending) reported = ending;
      return forced;
    }
  }
}

bool drain(Running& running) {
  bool fits = true;
  for (Catch& pipe : running.catches) {
    while (*pipe.descriptor >= 0) {
      const Got got = read_once(pipe);
      if (got == Got::nothing && *pipe.descriptor >= 0) break;
      if (got == Got::too_much) {
        fits = false;
        break;
      }
    }
  }
  return fits;
}

}  // namespace rollcall::sandbox
