// One connection of a listener: reads a request, waits for its answer, sends it, and so on.
#pragma once

#include "http/deadline.hpp"
#include "http/loop.hpp"
#include "http/outgoing.hpp"
#include "http/request.hpp"
#include "http/server.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::http {

/// What the connections of a listener share.
struct Shared {
  std::shared_ptr<Loop> loop;
  Service service;
  int port = 0;             ///< at which the socket listens
  std::size_t waiting = 0;  ///< exchanges without a whole answer
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, std::shared_ptr<Shared> shared);
  ~Connection() { leave_answering(State::asked); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Serves the client until the connection ends.
  asio::awaitable<void> serve();
  void close();  ///< serve() then returns soon

  enum class State {
    asked,      ///< for its next request, or to take notice of the end
    answering,  ///< an exchange waits for its answer
    sending,    ///< the whole answer waits for the client to take it
    closed
  };
  State state() const { return state_; }

 private:
  asio::awaitable<bool> exchange();
  void hand_over(Request request, const std::shared_ptr<Outgoing>& outgoing, bool closes);
  asio::awaitable<bool> send(Outgoing& outgoing);
  asio::awaitable<bool> write(const std::vector<std::string>& parts);
  asio::awaitable<void> linger();
  void leave_answering(State to);

  std::shared_ptr<Shared> shared_;
  Socket socket_;
  Deadline deadline_;
  asio::steady_timer wake_;  ///< cancelled when there is something to send
  boost::beast::flat_buffer buffer_;
  State state_ = State::asked;
  bool was_left_ = false;  ///< the client had closed its side before the end of the answer
};

}  // namespace rollcall::http
