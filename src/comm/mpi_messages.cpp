// Sends and receives that never block.
#include "comm/mpi_messages.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "comm/backoff.hpp"
#include "comm/deadline.hpp"
#include "comm/mpi_calls.hpp"

#include <utility>

namespace rollcall::comm {

void MpiMessages::check_message(int destination, int tag, std::size_t bytes) const {
  expect(destination >= 0 && destination < waits_->size() && tag >= 0,
         "send: destination is a rank and the tag is not negative");
  require_one_message(bytes, "sending a message");
}

void MpiMessages::send(int destination, int tag, std::string bytes) {
  check_message(destination, tag, bytes.size());
  if (destination == waits_->rank())
    return void(to_self_.push_back({waits_->rank(), tag, std::move(bytes)}));
  post(destination, tag, std::make_shared<const std::string>(std::move(bytes)));
}

void MpiMessages::send_all(std::span<const int> destinations, int tag, std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  for (const int destination : destinations) {
    check_message(destination, tag, shared->size());
    if (destination == waits_->rank()) to_self_.push_back({waits_->rank(), tag, *shared});
    else post(destination, tag, shared);
  }
}

void MpiMessages::post(int destination, int tag, const std::shared_ptr<const std::string>& bytes) {
  Sending& sending = sending_.emplace_back(Sending{destination, tag, bytes});
  check_mpi(MPI_Isend(bytes->data(), int(bytes->size()), MPI_BYTE, destination, tag, waits_->comm(),
                      &sending.request),
            "MPI_Isend");
  ++waits_->roll().moving;
  if (auto* met = waits_->met()) met->ring(destination);
  drive_send();
}

bool MpiMessages::drive_send() {
  if (sending_.empty()) return false;
  int done = 0;
  check_mpi(MPI_Test(&sending_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test of a send");
  if (done) {
    sending_.pop_front();
    --waits_->roll().moving;
  } else {
    // The unfinished send moves to the end of the list, so the next call tests another one.
    sending_.splice(sending_.end(), sending_, sending_.begin());
  }
  return done;
}

bool MpiMessages::arrived() {
  int done = 0;
  if (arriving_.empty()) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    for (int look = 0; look < 2 && !done; ++look)  // Open MPI answers first and takes in new
                                                   // messages afterwards, so after a single look a
                                                   // rank slept although its message was there
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, waits_->comm(), &done, &message, &status),
                "MPI_Improbe");
    if (!done) return false;
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Arriving& arriving = arriving_.emplace_back(
        Arriving{{status.MPI_SOURCE, status.MPI_TAG, std::string(std::size_t(count), '\0')}});
    ++waits_->roll().moving;
    check_mpi(
        MPI_Imrecv(arriving.message.bytes.data(), count, MPI_BYTE, &message, &arriving.request),
        "MPI_Imrecv");
  }
  check_mpi(MPI_Test(&arriving_.front().request, &done, MPI_STATUS_IGNORE),
            "MPI_Test of a receive");
  return done;
}

std::optional<Envelope> MpiMessages::try_receive() {
  waits_->note_own_bell();
  while (drive_send()) {
  }
  Envelope next;
  if (arrived()) {
    next = std::move(arriving_.front().message);
    arriving_.clear(), --waits_->roll().moving;
  } else if (!to_self_.empty()) {  // its own messages come last: a rank that sends to itself still
                                   // receives those of others
    next = std::move(to_self_.front());
    to_self_.pop_front();
  } else {
    return std::nullopt;
  }
  return next;
}

void MpiMessages::drain(double deadline_s) noexcept {
  Backoff wait;
  Deadline deadline(deadline_s);
  while (!(sending_.empty() && arriving_.empty()) && !deadline.is_over()) {
    if (!arriving_.empty() && arrived()) arriving_.clear(), --waits_->roll().moving;
    if (!drive_send()) pause(wait.pause_s());
  }
  if (sending_.empty() && arriving_.empty()) return;
  const auto say = [&](std::size_t bytes, int tag, const char* way, int other) {
    log_critical(
        "rank {} waited {:.3g} s for the end of a message of {} bytes with tag {} {} rank {} (its "
        "receiver has gone); the job ends",
        waits_->rank(), wait.waited_s(), bytes, tag, way, other);
  };
  if (sending_.empty())
    say(arriving_.front().message.bytes.size(), arriving_.front().message.tag, "from",
        arriving_.front().message.source);
  else
    say(sending_.front().bytes->size(), sending_.front().tag, "to", sending_.front().destination);
  abort_job(waits_->comm(), int(ExitCode::failed));
}

void MpiMessages::abandon() {
  new std::list<Sending>(std::move(sending_));
  new std::list<Arriving>(std::move(arriving_));
}

}  // namespace rollcall::comm
