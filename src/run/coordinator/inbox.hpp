// Waits for the coordinator's next message of one kind. Shares of checkpoints and requests to stop,
// which may arrive during any wait, are handled on the way.
#pragma once

#include "comm/communicator.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/messages/messages.hpp"
#include "run/workers/stop_request.hpp"

#include <functional>
#include <string>
#include <utility>

namespace rollcall::run {

class Inbox {
 public:
  /// Waits for the next message to the coordinator. The rank handles messages to its other stages
  /// during the wait. The text says what the wait is for.
  using NextMessage = std::function<comm::Envelope(const std::string& waiting_for)>;
  /// Takes the report that the share of one update rank is durable.
  using TakeSaved = std::function<void(SaveReport report)>;

  Inbox(NextMessage next, StopRequest& stop) : next_(std::move(next)), stop_(&stop) {}
  /// Sets who takes these reports. To be called before the first checkpoint is begun.
  void give_saved_to(TakeSaved take) { take_saved_ = std::move(take); }

  /// The next message of kind `tag`. Throws ProtocolError when an unexpected message of a different
  /// kind arrives.
  comm::Envelope await_envelope(Tag tag, const std::string& waiting_for);
  /// The content of the message that await_envelope() returns.
  template <class T>
  T await(Tag tag, const std::string& waiting_for) {
    return from_bytes<T>(await_envelope(tag, waiting_for).bytes);
  }

 private:
  NextMessage next_;
  StopRequest* stop_;
  TakeSaved take_saved_;
};

}  // namespace rollcall::run
