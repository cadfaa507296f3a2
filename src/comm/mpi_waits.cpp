// Polls or sleeps until a wait has ended, or its deadline has passed.
#include "comm/mpi_waits.hpp"

#include "base/errors/error.hpp"
#include "comm/backoff.hpp"
#include "comm/deadline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace rollcall::comm {
namespace {

constexpr double kUnwoken_s = 5e-3;  // longest sleep of a rank that only other ranks' bells wake;
                                     // between two sleeps it looks for questions from a roll call
constexpr double kUnaware_s = 2e-3;  // longest sleep if something that rings no bell may also end
                                     // the wait

}  // namespace

MpiWaits::MpiWaits(MPI_Comm comm, std::shared_ptr<RollCall> roll, WaitTimes& times)
    : comm_(comm), roll_(std::move(roll)), times_(&times) {
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

void MpiWaits::complete_all(const char* call, std::span<MPI_Request> requests,
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

void MpiWaits::wait_in(const char* call, const std::function<bool()>& done,
                       const std::function<bool()>& early) {
  Deadline deadline(times_->collective_deadline_s);
  Backoff looking;
  std::string where;  // names the wait for roll calls; set before the first sleep
  for (bool was_early = false;;) {
    const std::uint32_t rings_seen = meeting_ ? meeting_->bell() : 0;
    const bool is_early = early();
    if (std::exchange(was_early, is_early) && !is_early) looking = {};
    const bool ended = done();
    if (ended || deadline.is_over()) {
      const double waited = deadline.waited_s();
      times_->waited_s += waited;
      if (ended) return roll_->activity->wait_ended();
      throw ProtocolError(
          error_message(fmt::format("rank {} of {} waited {:.3g} s in {}", roll_->world_rank,
                                    roll_->size(), waited, call),
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

void MpiWaits::await(const char* what, const std::function<bool()>& come) {
  if (come()) return roll_->activity->wait_ended();
  wait_in(what, come, [] { return true; });
}

void MpiWaits::await_all(const char* what, std::uint32_t number) {
  await(what, [&] { return meeting_->all_entered(number); });
}

void MpiWaits::await_rank(const char* what, int rank, std::uint32_t number) {
  expect(rank >= 0 && rank < size_, "the root is a rank");
  await(what, [&] { return meeting_->has_entered(rank, number); });
}

/// `seconds`, or less while messages are under way: a message that is longer than one packet may
/// need its sender to call MPI again, and no bell rings for that.
double MpiWaits::longest_sleep(double seconds) const {
  constexpr double kMoving_s = 0.5e-3;
  if (roll_->moving == 0) return seconds;
  int here = 0;
  // lets MPI move the unfinished messages on
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &here, MPI_STATUS_IGNORE), "MPI_Iprobe");
  return std::min(seconds, kMoving_s);
}

void MpiWaits::pause(double seconds) {
  if (!meeting_ || (seconds <= 0 && !crowded_)) return give_way(seconds);
  meeting_->sleep_on_own(rings_seen_, crowded_ ? longest_sleep(kUnaware_s) : seconds);
  rings_seen_ = meeting_->own_bell();  // so that a wait for something other than messages sleeps
                                       // next time
}

}  // namespace rollcall::comm
