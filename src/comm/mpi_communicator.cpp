// Messages over MPI, and waits that sleep.
#include "comm/mpi_communicator.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/deadline.hpp"
#include "comm/timed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <exception>
#include <utility>

namespace rollcall::comm {
namespace {

constexpr double kUnwoken_s = 5e-3;  // longest sleep of a rank that others wake; between two sleeps
                                     // it looks for questions of a roll call
constexpr double kUnaware_s = 2e-3;  // longest sleep where something else than other ranks may end
                                     // the wait as well

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw ProtocolError(error_message(fmt::format("{} failed", call), text,
                                    "see the MPI library's own lines above; the job cannot go on"));
}

void require_one_message(std::size_t bytes, const char* what) {
  require<ProtocolError>(bytes <= std::size_t(INT_MAX), fmt::format("{} of {} bytes", what, bytes),
                         fmt::format("one MPI message holds at most {} bytes", INT_MAX),
                         "send it in parts, by broadcast or as a file");
}

MpiCommunicator::MpiCommunicator(MPI_Comm own, std::shared_ptr<RollCall> roll)
    : comm_(own), exceptions_(std::uncaught_exceptions()), roll_call_(std::move(roll)) {
  roll_ = roll_call_;
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (std::uncaught_exceptions() > exceptions_) {
    // The job is about to end. Until then MPI may still use the buffers of unfinished messages, so
    // they are never freed.
    new std::list<Sending>(std::move(sending_));
    new std::list<Arriving>(std::move(arriving_));
    return;
  }
  drain();
  MPI_Comm_free(&comm_);
}

void MpiCommunicator::complete_all(const char* call, std::span<MPI_Request> requests,
                                   const std::function<bool()>& early) {
  const auto done = [&] {
    int all = 1;
    for (MPI_Request& request : requests) {  // MPI_Testall does not test again after it has made
                                             // progress, and hides which error it met
      int one = 0;
      check_mpi(MPI_Test(&request, &one, MPI_STATUS_IGNORE), call);
      all &= one;
    }
    return all != 0;
  };
  wait_in(call, done, early);
}

void MpiCommunicator::wait_in(const char* call, const std::function<bool()>& done,
                              const std::function<bool()>& early) {
  Deadline deadline(collective_deadline_s_);
  Backoff looking;
  std::string where;  // set once the wait is long
  for (bool was_early = false;;) {
    const std::uint32_t rings_seen = meeting_ ? meeting_->bell() : 0;
    const bool is_early = early();
    if (std::exchange(was_early, is_early) && !is_early) looking = {};
    const bool ended = done();
    if (ended || deadline.is_over()) {
      const double waited = deadline.waited_s();
      waited_s_ += waited;
      if (ended) return roll_->activity->wait_ended();
      throw ProtocolError(
          error_message(fmt::format("rank {} of {} waited {:.3g} s in {}", roll_->world_rank,
                                    roll_call_->size(), waited, call),
                        roll_->call(fmt::format("in {}", call)),
                        "look at that rank's node and its last log line, or raise run.deadline_s"));
    }
    const double pause_s = looking.pause_s();
    const bool sleeps = is_early && (crowded_ || pause_s > 0);
    if (sleeps || pause_s > 0) {
      if (where.empty()) where = fmt::format("in {}", call);
      roll_->begin_sleep(where);
    }
    if (sleeps) meeting_->sleep(rings_seen, longest_sleep(kUnwoken_s));
    else give_way(pause_s);
  }
}

void MpiCommunicator::await(const char* what, const std::function<bool()>& come) {
  if (come()) return roll_->activity->wait_ended();
  wait_in(what, come, [] { return true; });
}

void MpiCommunicator::await_all(const char* what, std::uint32_t number) {
  await(what, [&] { return meeting_->all_entered(number); });
}

void MpiCommunicator::await_rank(const char* what, int rank, std::uint32_t number) {
  expect(rank >= 0 && rank < size_, "the root is a rank");
  await(what, [&] { return meeting_->has_entered(rank, number); });
}

/// A message that is longer than one packet may need its sender to call MPI again, and rings no
/// bell.
double MpiCommunicator::longest_sleep(double seconds) const {
  constexpr double kMoving_s = 0.5e-3;
  if (roll_call_->moving == 0) return seconds;
  int here = 0;
  // makes progress with unfinished messages
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &here, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return std::min(seconds, kMoving_s);
}

void MpiCommunicator::pause(double seconds) {
  if (!meeting_ || (seconds <= 0 && !crowded_)) return give_way(seconds);
  meeting_->sleep_on_own(rings_seen_, crowded_ ? longest_sleep(kUnaware_s) : seconds);
  rings_seen_ = meeting_->own_bell();  // so that a wait for something else than messages sleeps
                                       // next time
}

void MpiCommunicator::meet(bool crowded) {
  if (size_ == 1) return;
  meeting_.emplace(share_memory(NodeRendezvous::bytes(size_)), rank_, size_);
  crowded_ = cores_together(*this) < size_ || crowded;  // cores_together is collective, so it is
                                                        // always called
}

void MpiCommunicator::check_message(int destination, int tag, std::size_t bytes) const {
  expect(destination >= 0 && destination < size_ && tag >= 0,
         "send: destination is a rank and the tag is not negative");
  require_one_message(bytes, "sending a message");
}

void MpiCommunicator::send(int destination, int tag, std::string bytes) {
  check_message(destination, tag, bytes.size());
  if (destination == rank_) return void(to_self_.push_back({rank_, tag, std::move(bytes)}));
  post(destination, tag, std::make_shared<const std::string>(std::move(bytes)));
}

void MpiCommunicator::send_all(std::span<const int> destinations, int tag, std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  for (const int destination : destinations) {
    check_message(destination, tag, shared->size());
    if (destination == rank_) to_self_.push_back({rank_, tag, *shared});
    else post(destination, tag, shared);
  }
}

void MpiCommunicator::post(int destination, int tag,
                           const std::shared_ptr<const std::string>& bytes) {
  Sending& sending = sending_.emplace_back(Sending{destination, tag, bytes});
  check_mpi(MPI_Isend(bytes->data(), int(bytes->size()), MPI_BYTE, destination, tag, comm_,
                      &sending.request),
            "MPI_Isend");
  ++roll_call_->moving;
  if (meeting_) meeting_->ring(destination);
  drive_send();
}

bool MpiCommunicator::drive_send() {
  if (sending_.empty()) return false;
  int done = 0;
  check_mpi(MPI_Test(&sending_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test of a send");
  if (done) {
    sending_.pop_front();
    --roll_call_->moving;
  } else {
    // it is tested again after all others
    sending_.splice(sending_.end(), sending_, sending_.begin());
  }
  return done;
}

bool MpiCommunicator::arrived() {
  int done = 0;
  if (arriving_.empty()) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    for (int look = 0; look < 2 && !done; ++look)  // Open MPI answers first and takes in new
                                                   // messages afterwards, so after a single look a
                                                   // rank slept although its message was there
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &done, &message, &status),
                "MPI_Improbe");
    if (!done) return false;
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Arriving& arriving = arriving_.emplace_back(
        Arriving{{status.MPI_SOURCE, status.MPI_TAG, std::string(std::size_t(count), '\0')}});
    ++roll_call_->moving;
    check_mpi(
        MPI_Imrecv(arriving.message.bytes.data(), count, MPI_BYTE, &message, &arriving.request),
        "MPI_Imrecv");
  }
  check_mpi(MPI_Test(&arriving_.front().request, &done, MPI_STATUS_IGNORE),
            "MPI_Test of a receive");
  return done;
}

std::optional<Envelope> MpiCommunicator::try_receive() {
  if (meeting_) rings_seen_ = meeting_->own_bell();
  while (drive_send()) {
  }
  Envelope next;
  if (arrived()) {
    next = std::move(arriving_.front().message);
    arriving_.clear(), --roll_call_->moving;
  } else if (!to_self_.empty()) {  // own messages come last, so that a rank that sends to itself
                                   // still receives the others'
    next = std::move(to_self_.front());
    to_self_.pop_front();
  } else {
    return std::nullopt;
  }
  return next;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color) { return part(color); }

std::unique_ptr<MpiCommunicator> MpiCommunicator::part(int color) {
  barrier();  // MPI_Comm_split has no non-blocking form, so ranks wait for each other asleep in a
              // barrier first
  MPI_Comm own = MPI_COMM_NULL;
  {
    const TimedCall guard(collective_deadline_s_, "MPI_Comm_split");
    check_mpi(MPI_Comm_split(comm_, color >= 0 ? color : MPI_UNDEFINED, rank_, &own),
              "MPI_Comm_split");
  }
  if (own == MPI_COMM_NULL) return nullptr;
  auto communicator = std::make_unique<MpiCommunicator>(own, roll_call_);
  communicator->set_collective_deadline(collective_deadline_s_);
  if (meeting_) communicator->meet(crowded_);  // the part lies on the same node
  return communicator;
}

void MpiCommunicator::abort(int exit_code) {
  flush_log();
  std::fflush(nullptr);
  constexpr double kAbortDeadline_s = 10.0;  // a launcher that is gone does not answer
  const TimedCall guard(kAbortDeadline_s, "MPI_Abort");
  MPI_Abort(comm_, exit_code);
  std::_Exit(exit_code);  // MPI_Abort may return when the launcher is gone
}

void MpiCommunicator::drain() noexcept {
  Backoff wait;
  Deadline deadline(collective_deadline_s_);
  while (!(sending_.empty() && arriving_.empty()) && !deadline.is_over()) {
    if (!arriving_.empty() && arrived()) arriving_.clear(), --roll_call_->moving;
    if (!drive_send()) pause(wait.pause_s());
  }
  if (sending_.empty() && arriving_.empty()) return;
  const auto say = [&](std::size_t bytes, int tag, const char* way, int other) {
    log_critical(
        "rank {} waited {:.3g} s for the end of a message of {} bytes with tag {} {} rank {} (its "
        "receiver has gone); the job ends",
        rank_, wait.waited_s(), bytes, tag, way, other);
  };
  if (sending_.empty())
    say(arriving_.front().message.bytes.size(), arriving_.front().message.tag, "from",
        arriving_.front().message.source);
  else
    say(sending_.front().bytes->size(), sending_.front().tag, "to", sending_.front().destination);
  abort(int(ExitCode::failed));
}

std::unique_ptr<Communicator> duplicate(MPI_Comm comm) {
  const TimedCall guard(kStartDeadline_s, "MPI_Comm_dup");
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(own, std::make_shared<RollCall>(comm));
}

}  // namespace rollcall::comm
