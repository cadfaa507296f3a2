// Typed messages over a communicator: the only way stages speak to each other, whether they share a rank or not.
#pragma once

#include "comm/communicator.hpp"
#include "stages/message_bytes.hpp"
#include "stages/messages.hpp"

namespace rollcall::stages {

class Mailbox {
 public:
  explicit Mailbox(comm::Communicator& world) : world_(&world) {}
  int rank() const { return world_->rank(); }

  template <class T>
  void send(int destination, Tag tag, const T& message) {
    world_->send(destination, int(tag), to_bytes(message));
  }
  template <class T>
  void send_all(const std::vector<int>& destinations, Tag tag, const T& message) {
    const std::string bytes = to_bytes(message);
    for (const int destination : destinations) world_->send(destination, int(tag), bytes);
  }
  comm::Communicator& world() { return *world_; }

 private:
  comm::Communicator* world_;
};

}  // namespace rollcall::stages
