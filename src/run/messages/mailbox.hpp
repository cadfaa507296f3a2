// Sends typed messages over a communicator. Stages exchange messages only in this way, whether they
// share a rank or not.
#pragma once

#include "comm/communicator.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/messages/messages.hpp"

#include <span>

namespace rollcall::run {

class Mailbox {
 public:
  explicit Mailbox(comm::Communicator& world) : world_(&world) {}
  int rank() const { return world_->rank(); }

  template <class T>
  void send(int destination, Tag tag, const T& message) {
    world_->send(destination, int(tag), to_bytes(message));
  }
  template <class T>
  void send_all(std::span<const int> destinations, Tag tag, const T& message) {
    world_->send_all(destinations, int(tag), to_bytes(message));
  }
  /// Sends the whole message to the first destination, and to the others what `cut` leaves of it.
  /// They get the rest from the first one (messages.hpp).
  template <class T, class Cut>
  void send_led(std::span<const int> destinations, Tag tag, T message, Cut cut) {
    send(destinations.front(), tag, message);
    cut(message);
    send_all(destinations.subspan(1), tag, message);
  }
  comm::Communicator& world() { return *world_; }

 private:
  comm::Communicator* world_;
};

}  // namespace rollcall::run
