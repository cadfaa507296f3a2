// How an MPI communicator is made, split and destroyed.
#include "comm/mpi_communicator.hpp"

#include "comm/timed_call.hpp"

#include <exception>
#include <utility>

namespace rollcall::comm {

MpiCommunicator::MpiCommunicator(MPI_Comm own, std::shared_ptr<RollCall> roll)
    : comm_(own),
      exceptions_(std::uncaught_exceptions()),
      roll_call_(std::move(roll)),
      waits_(comm_, roll_call_, times_) {
  roll_ = roll_call_;
  auto messages = std::make_unique<MpiMessages>(waits_);
  mpi_messages_ = messages.get();
  messages_ = std::move(messages);
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (std::uncaught_exceptions() > exceptions_) {
    mpi_messages_->abandon();  // the job is about to end
    return;
  }
  mpi_messages_->drain(times_.collective_deadline_s);
  MPI_Comm_free(&comm_);
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color) {
  barrier();  // MPI_Comm_split has no non-blocking form, so ranks wait for each other asleep in a
              // barrier first
  MPI_Comm own = MPI_COMM_NULL;
  {
    const TimedCall guard(times_.collective_deadline_s, "MPI_Comm_split");
    check_mpi(MPI_Comm_split(comm_, color >= 0 ? color : MPI_UNDEFINED, rank(), &own),
              "MPI_Comm_split");
  }
  if (own == MPI_COMM_NULL) return nullptr;
  auto communicator = std::make_unique<MpiCommunicator>(own, roll_call_);
  communicator->set_collective_deadline(times_.collective_deadline_s);
  // ranks split from ranks that have met are on one node
  if (waits_.met()) meet(*communicator, communicator->waits_, waits_.crowded());
  return communicator;
}

void MpiCommunicator::abort(int exit_code) { abort_job(comm_, exit_code); }

std::unique_ptr<Communicator> duplicate(MPI_Comm comm) {
  const TimedCall guard(kStartDeadline_s, "MPI_Comm_dup");
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(own, std::make_shared<RollCall>(comm));
}

}  // namespace rollcall::comm
