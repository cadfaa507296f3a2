// An HTTP/1.1 server: one thread serves the connections of all its listening sockets. There is no
// TLS, no compression, no HTTP/2 and no websocket.
#pragma once

#include "http/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace rollcall::http {

/// Limits of a listening socket. With them a client can delay nobody but itself.
struct Limits {
  /// Beyond it the oldest connection that has no open exchange is closed.
  std::size_t connections = 64;
  /// Exchanges without a whole answer; beyond it status 429. Less than `connections`.
  std::size_t waiting = 32;
  std::uint32_t head_bytes = 16384;
  std::uint64_t body_bytes = 0;  ///< 0: requests have no body
  /// Seconds for a whole head and a whole body to come, and for the client to take what is sent.
  double head_s = 5.0, body_s = 60.0, answer_s = 60.0;
  /// Connections outlive an answer, and no clock closes one between two requests. Otherwise each
  /// connection has one request, whose head has to come within head_s.
  bool keeps_open = false;
};

/// "text/plain" with a line that says why. For refusals by the server itself.
Answer plain_refusal(int status, const std::string& why);

/// What answers the requests of a listening socket. All functions run on the server's thread, so
/// they return at once. If one throws, the client gets status 500 or loses its connection.
struct Service {
  Limits limits{};
  /// Looks at a head before the body is read. `port`: the one at which the socket listens. What it
  /// returns is sent instead of asking `handler`. Empty: every head is fine.
  std::function<std::optional<Answer>(const Head& head, int port)> judge{};
  /// Gets every request that could be read whole.
  std::function<void(std::shared_ptr<Exchange> exchange)> handler;
  /// Words a refusal: 400 what is no HTTP, 408 too slow, 413 and 431 too long, 417 Expect, 429 too
  /// many at once, 500 unanswered, 501 another transfer coding than chunked.
  std::function<Answer(int status, const std::string& why)> refusal = plain_refusal;
};

class Server {
 public:
  /// Starts the thread, in which all signals are blocked. `failed` gets what functions of a service,
  /// of on_end() or of post() throw. It runs on the server's thread and throws nothing.
  explicit Server(std::function<void(std::exception_ptr)> failed);
  /// Closes all connections and waits for the thread. No function of a service runs afterwards. Not
  /// to be called on the server's thread.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Listener {
    std::uint64_t number = 0;
    int port = 0;  ///< 0 if the socket is not one of IP
  };
  /// Listens at an address or name of this machine; port 0 is any free one. Throws EnvironmentError
  /// if it cannot be used, as when another program has it.
  Listener listen(const std::string& host, int port, Service service);
  /// Takes over a stream socket that listens already, and closes it at the end.
  Listener adopt(int listening, Service service);
  /// Closes the connections of a listener, and those that it has not accepted yet. As close(), it
  /// takes effect in order with post(), from any thread and without a wait.
  void reset(std::uint64_t listener);
  void close(std::uint64_t listener);  ///< with its connections
  /// Runs `work` on the server's thread; in the order of the calls. Work that is posted before the
  /// thread wakes up costs one wake together.
  void post(std::function<void()> work);
  double processor_s() const;  ///< processor time of the thread [s]

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::http
