// Non-blocking sockets and poll().
#include "view/connections.hpp"

#include "base/uninterrupted.hpp"
#include "view/http_request.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::view {
namespace {

Connections::Clock::time_point in(double seconds) {
  return Connections::Clock::now() + std::chrono::duration_cast<Connections::Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Whether the call failed for now only.
bool later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Connections::Connections(int listener, OnHead on_head, ConnectionLimits limits) : listener_(listener), on_head_(std::move(on_head)), limits_(limits) {}

Connections::~Connections() {
  for (const auto& [number, connection] : open_) ::close(connection.fd);
}

void Connections::add_to(std::vector<pollfd>& watched) const {
  watched.push_back({listener_, POLLIN, 0});
  for (const auto& [number, connection] : open_) {
    const short events = connection.state == State::answer ? POLLOUT : connection.state == State::asked ? 0 : POLLIN;
    watched.push_back({connection.fd, events, 0});
  }
}

int Connections::patience_ms() const {
  Clock::time_point first = Clock::time_point::max();
  for (const auto& [number, connection] : open_)
    if (connection.state != State::asked) first = std::min(first, connection.until);
  if (first == Clock::time_point::max()) return -1;
  return int(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count()));
}

void Connections::advance(const std::vector<pollfd>& watched) {
  bool arrived = false;
  for (const pollfd& seen : watched) {
    if (seen.revents == 0) continue;
    if (seen.fd == listener_) arrived = true;
    const auto place = std::find_if(open_.begin(), open_.end(), [&](const auto& entry) { return entry.second.fd == seen.fd; });
    if (place != open_.end()) advance(place);
  }
  expire();
  if (arrived) accept_all();  // at last, so that no descriptor of `watched` is one that was closed and opened again
}

void Connections::advance(Place place) {
  bool goes_on = true;
  switch (place->second.state) {
    case State::head: goes_on = read_head(place); break;
    case State::asked: goes_on = false; break;  // only an error or a hang-up is seen here
    case State::answer: goes_on = write_answer(place->second); break;
    case State::rest: goes_on = read_rest(place->second); break;
  }
  if (!goes_on) close(place);
}

void Connections::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && !open_.empty()) {
      make_room();
      return;  // poll() tells of it again
    }
    if (fd < 0) return;  // whoever it was has gone, or there is nobody more
    if (open_.size() >= limits_.most) make_room();
    open_.emplace(next_++, Connection{.fd = fd, .until = in(limits_.head_s)});
  }
}

void Connections::make_room() {
  const auto oldest = std::find_if(open_.begin(), open_.end(), [](const auto& entry) { return entry.second.state != State::asked; });
  close(oldest == open_.end() ? open_.begin() : oldest);
}

bool Connections::read_head(Place place) {
  auto& [number, connection] = *place;
  std::array<char, 4096> bytes{};
  const ssize_t got = ::recv(connection.fd, bytes.data(), bytes.size(), 0);
  if (got < 0) return later();
  if (got == 0) return false;
  connection.text.append(bytes.data(), std::size_t(got));
  const bool whole = is_whole_head(connection.text);
  if (!whole && connection.text.size() <= limits_.head_bytes) return true;
  connection.state = State::asked;
  on_head_(*this, number, std::exchange(connection.text, {}), whole ? 0 : 431);
  return true;
}

bool Connections::write_answer(Connection& connection) {
  while (connection.written < connection.text.size()) {
    const ssize_t n = ::send(connection.fd, connection.text.data() + connection.written, connection.text.size() - connection.written, MSG_NOSIGNAL);
    if (n < 0) return later();
    connection.written += std::size_t(n);
  }
  connection.state = State::rest, connection.until = in(limits_.rest_s);
  connection.text = {};
  return ::shutdown(connection.fd, SHUT_WR) == 0;
}

bool Connections::read_rest(const Connection& connection) {
  std::array<char, 65536> bytes{};
  const ssize_t got = ::recv(connection.fd, bytes.data(), bytes.size(), 0);
  return got > 0 || (got < 0 && later());
}

void Connections::answer(std::uint64_t number, std::string text) {
  const auto place = open_.find(number);
  if (place == open_.end()) return;
  Connection& connection = place->second;
  connection.state = State::answer, connection.until = in(limits_.answer_s);
  connection.text = std::move(text), connection.written = 0;
}

void Connections::expire() {
  const auto now = Clock::now();
  for (auto place = open_.begin(); place != open_.end();) {
    const auto here = place++;
    auto& [number, connection] = *here;
    if (connection.state == State::asked || connection.until > now) continue;
    if (connection.state != State::head || connection.text.empty()) {
      close(here);
    } else {
      connection.state = State::asked;
      on_head_(*this, number, std::exchange(connection.text, {}), 408);
    }
  }
}

void Connections::close(Place place) {
  ::close(place->second.fd);
  open_.erase(place);
}

}  // namespace rollcall::view
