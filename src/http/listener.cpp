// Accepts connections, and closes the ones that can be spared when there are too many.
#include "http/listener.hpp"

#include "http/listening_socket.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace rollcall::http {
namespace {

using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;

/// The next connection, or -1. Its descriptor is not inherited by programs that are started.
int accepted(int listening) {
  const int descriptor = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  const int on = 1;  // the pieces of a streamed answer leave at once
  if (descriptor >= 0) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

}  // namespace

Listener::Listener(std::shared_ptr<Loop> loop, int listening, Service service)
    : shared_(std::make_shared<Shared>(
          Shared{std::move(loop), std::move(service), port_of(listening)})),
      acceptor_(shared_->loop->context(), Tcp::v4(), listening),
      pause_(shared_->loop->context()) {
  acceptor_.native_non_blocking(true);
}

void Listener::begin() { shared_->loop->spawn(accept_all(shared_from_this())); }

void Listener::close() {
  Error ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (const auto& connection : open_) connection->close();
}

void Listener::reset() {
  // Those not accepted yet come first: a client that sees its connection closed may connect again,
  // and stays. What comes while this runs is not older than the call, so the loop has an end.
  for (int i = 0; acceptor_.is_open() && i < SOMAXCONN; ++i) {
    const int descriptor = accepted(acceptor_.native_handle());
    if (descriptor < 0) break;
    ::close(descriptor);
  }
  for (const auto& connection : open_) connection->close();
}

/// Closes the connection that can best be spared: the oldest that owes us a request, or else the
/// oldest that does not take its answer.
void Listener::make_room() {
  for (const auto state : {Connection::State::asked, Connection::State::sending}) {
    const auto oldest = std::find_if(open_.begin(), open_.end(),
                                     [&](const auto& one) { return one->state() == state; });
    if (oldest == open_.end()) continue;
    (*oldest)->close();
    return;
  }
}

asio::awaitable<void> Listener::accept_all(std::shared_ptr<Listener> self) {
  Tcp::acceptor& acceptor = self->acceptor_;
  const std::shared_ptr<Shared> shared = self->shared_;
  while (acceptor.is_open()) {
    Error error;
    co_await acceptor.async_wait(Tcp::acceptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor.is_open()) co_return;
    const int descriptor = error ? -1 : accepted(acceptor.native_handle());
    // the client is gone already, or the wait ended too early
    const bool is_nobody = !error && descriptor < 0 && (errno == EAGAIN || errno == ECONNABORTED);
    if (is_nobody) continue;
    if (descriptor < 0 || self->open_.size() >= shared->service.limits.connections)
      self->make_room();
    if (descriptor >= 0) {
      Socket socket(shared->loop->context(), Tcp::v4(), descriptor);
      const auto place = self->open_.insert(
          self->open_.end(), std::make_shared<Connection>(std::move(socket), shared));
      shared->loop->spawn(keep(self, place));
    } else {  // too many files are open, which may pass
      self->pause_.expires_after(std::chrono::milliseconds(20));
      co_await self->pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

asio::awaitable<void> Listener::keep(std::shared_ptr<Listener> self, Open::iterator place) {
  /// Removes the connection no matter where the coroutine ends.
  struct Entry {
    Open& open;
    Open::iterator place;
    Entry(Open& all, Open::iterator it) : open(all), place(it) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { open.erase(place); }
  };
  const Entry entry(self->open_, place);
  const auto connection = *place;
  co_await connection->serve();
}

}  // namespace rollcall::http
