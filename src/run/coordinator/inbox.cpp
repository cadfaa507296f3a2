// Waits for one kind of message and passes on the two kinds that may arrive at any time.
#include "run/coordinator/inbox.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

namespace rollcall::run {

comm::Envelope Inbox::await_envelope(Tag tag, const std::string& waiting_for) {
  for (;;) {
    auto envelope = next_(waiting_for);
    if (Tag(envelope.tag) == Tag::saved) take_saved_(from_bytes<SaveReport>(envelope.bytes));
    if (Tag(envelope.tag) == tag) return envelope;
    if (Tag(envelope.tag) == Tag::saved) continue;
    require<ProtocolError>(Tag(envelope.tag) == Tag::stop,
                           fmt::format("message {} from rank {} while waiting for {}", envelope.tag,
                                       envelope.source, waiting_for),
                           "the stages disagree about the step", "resume from the last checkpoint");
    stop_->remember_signal(from_bytes<std::string>(envelope.bytes));
  }
}

}  // namespace rollcall::run
