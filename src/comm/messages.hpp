// Messages between the ranks of a group.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace rollcall::comm {

/// A received message. All tags are defined in run/messages/messages.hpp.
struct Envelope {
  int source = 0;
  int tag = 0;
  std::string bytes;
};

/// How a transport moves messages. Every communicator has one; its users call the functions of the
/// same names in Communicator.
class Messages {
 public:
  virtual ~Messages() = default;
  /// Sends without waiting for the receiver. Messages between two ranks arrive in the order in
  /// which they were sent. A rank may send to itself.
  virtual void send(int destination, int tag, std::string bytes) = 0;
  /// Sends the same bytes to several ranks, as one call of send per rank would. If the transport
  /// can, all of them share one copy of the bytes.
  virtual void send_all(std::span<const int> destinations, int tag, std::string bytes);
  /// Returns the next message from any rank, if one has arrived. Also makes progress with messages
  /// that this rank is sending.
  virtual std::optional<Envelope> try_receive() = 0;
  /// Lets other threads use the core for about `seconds`; 0 only yields to the scheduler. A
  /// transport that notices arriving messages returns early.
  virtual void pause(double seconds);
};

}  // namespace rollcall::comm
