// A listening socket and its connections.
#pragma once

#include "http/connection.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <list>
#include <memory>

namespace rollcall::http {

/// For the server's thread alone, but for the constructor.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  /// Owns the descriptor, which listens already.
  Listener(std::shared_ptr<Loop> loop, int listening, Service service);
  void begin();  ///< accepts connections from now on
  void close();
  void reset();  ///< closes all connections, and those not accepted yet

 private:
  using Open = std::list<std::shared_ptr<Connection>>;  // by age, the oldest first
  // A coroutine begins after the call that spawns it, so it holds the listener from the call on.
  static asio::awaitable<void> accept_all(std::shared_ptr<Listener> self);
  static asio::awaitable<void> keep(std::shared_ptr<Listener> self, Open::iterator place);
  void make_room();

  std::shared_ptr<Shared> shared_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  Open open_;
};

}  // namespace rollcall::http
