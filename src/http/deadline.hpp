// A time limit for what a socket is waiting for.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace rollcall::http {

namespace asio = boost::asio;
using Socket = asio::ip::tcp::socket;

/// Cancels the operations of a socket when a time is over. A Beast stream closes its socket then,
/// and a client could not be told that it was too slow. For the thread of the socket alone.
class Deadline {
 public:
  explicit Deadline(Socket& socket) : socket_(&socket), timer_(socket.get_executor()) {}
  /// The operations from now on have so many seconds together.
  void begin(double seconds) {
    passed_ = false;
    current_ = std::make_shared<int>();
    wait(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds)));
  }
  void end() {
    current_.reset();
    timer_.cancel();
  }
  bool passed() const { return passed_; }  ///< since the last begin()

 private:
  /// Cancels again and again. An operation of several reads is not ended by one cancellation that
  /// comes between two of them.
  void wait(std::chrono::steady_clock::duration time) {
    timer_.expires_after(time);
    timer_.async_wait([this, current = std::weak_ptr<int>(current_)](const auto& error) {
      if (error || current.expired()) return;
      passed_ = true;
      boost::system::error_code ignored;
      socket_->cancel(ignored);
      wait(std::chrono::milliseconds(20));
    });
  }

  Socket* socket_;
  asio::steady_timer timer_;
  std::shared_ptr<int> current_;  ///< held by the deadline that counts
  bool passed_ = false;
};

}  // namespace rollcall::http
