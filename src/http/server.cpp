// Listeners by number. Calls of other threads are posted to the loop.
#include "http/server.hpp"

#include "base/errors/error.hpp"
#include "http/listener.hpp"
#include "http/listening_socket.hpp"

#include <atomic>
#include <map>
#include <utility>

namespace rollcall::http {

Answer plain_refusal(int status, const std::string& why) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = why + "\n"};
}

struct Server::State {
  explicit State(std::function<void(std::exception_ptr)> failed)
      : loop(std::make_shared<Loop>(std::move(failed))) {}

  std::shared_ptr<Loop> loop;  ///< exchanges that outlive the server have it, too
  std::atomic<std::uint64_t> next = 1;
  std::map<std::uint64_t, std::shared_ptr<http::Listener>> listeners;  ///< the loop's thread alone

  /// Calls `change` with a listener that is open, on the loop's thread.
  template <class Change>
  void post(std::uint64_t number, const Change& change) {
    loop->post([this, number, change] {
      if (const auto at = listeners.find(number); at != listeners.end()) change(*at->second);
    });
  }
};

Server::Server(std::function<void(std::exception_ptr)> failed)
    : state_(std::make_unique<State>(std::move(failed))) {}

Server::~Server() {
  state_->loop->end([this] {
    for (const auto& [number, listener] : state_->listeners) listener->close();
    state_->listeners.clear();
  });
}

Server::Listener Server::listen(const std::string& host, int port, Service service) {
  return adopt(listening_socket(host, port), std::move(service));
}

Server::Listener Server::adopt(int listening, Service service) {
  expect(service.handler != nullptr && service.limits.waiting < service.limits.connections,
         "a service has a handler, and fewer exchanges than connections");
  const std::uint64_t number = state_->next++;
  const auto listener =
      std::make_shared<http::Listener>(state_->loop, listening, std::move(service));
  const int port = port_of(listening);
  state_->loop->post([state = state_.get(), number, listener] {
    state->listeners.emplace(number, listener);
    listener->begin();
  });
  return {number, port};
}

void Server::reset(std::uint64_t listener) {
  state_->post(listener, [](http::Listener& one) { one.reset(); });
}

void Server::close(std::uint64_t listener) {
  state_->post(listener, [state = state_.get(), listener](http::Listener& one) {
    one.close();
    state->listeners.erase(listener);  // its coroutines have it until they end
  });
}

void Server::post(std::function<void()> work) { state_->loop->post(std::move(work)); }

double Server::processor_s() const { return state_->loop->processor_s(); }

}  // namespace rollcall::http
