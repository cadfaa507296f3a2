// Connections of a server on this machine, all in one thread: none can hold up another, whether it
// writes slowly, reads slowly or does nothing at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct pollfd;

namespace rollcall::view {

/// Limits of a request. Every client has the address 127.0.0.1, so there is no count of them apart:
/// where there are too many connections, the oldest of those that wait for their client goes.
struct ConnectionLimits {
  std::size_t most = 64;          ///< connections at a time; a browser opens six
  double head_s = 5.0;            ///< from the connection's begin to the last byte of the request's head
  double answer_s = 60.0;         ///< from the answer's first byte to its last
  double rest_s = 1.0;            ///< in which what a client still sends is read and forgotten, so that it sees the answer
  std::size_t head_bytes = 8192;  ///< of a request
};

class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called once with a connection's head: whole, or what there is of it by a limit (`status` 408
  /// or 431; else 0). Answers by answer(), now or later.
  using OnHead = std::function<void(Connections&, std::uint64_t connection, const std::string& head, int status)>;

  /// `listener`: non-blocking, and the caller's.
  Connections(int listener, OnHead on_head, ConnectionLimits limits = {});
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void add_to(std::vector<pollfd>& watched) const;     ///< the listener and all connections, at its end
  void advance(const std::vector<pollfd>& watched);    ///< does what can be done without waiting
  int patience_ms() const;                             ///< until the next deadline; -1: none
  void answer(std::uint64_t connection, std::string);  ///< no matter where the client has gone in between

 private:
  enum class State { head, asked, answer, rest };
  struct Connection {
    int fd;
    State state = State::head;
    Clock::time_point until{};
    std::string text{};  ///< of the head, then of the answer
    std::size_t written = 0;
  };
  using Place = std::map<std::uint64_t, Connection>::iterator;

  void accept_all();
  void make_room();
  void advance(Place place);
  bool read_head(Place place);  ///< false: the connection is over; like below
  bool write_answer(Connection& connection);
  static bool read_rest(const Connection& connection);
  void expire();
  void close(Place place);

  int listener_;
  OnHead on_head_;
  ConnectionLimits limits_;
  std::map<std::uint64_t, Connection> open_;  ///< by number, so the oldest is the first
  std::uint64_t next_ = 0;
};

}  // namespace rollcall::view
