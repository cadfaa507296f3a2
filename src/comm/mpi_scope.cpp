// Start and end of MPI.
#include "comm/mpi_communicator.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "comm/timed_call.hpp"

#include <fmt/format.h>

#include <sys/prctl.h>

#include <cstdlib>
#include <exception>

namespace rollcall::comm {
namespace {

/// Linux ends a sleep up to this many nanoseconds late. Its default of 50 us is longer than the
/// first sleeps of a Backoff.
constexpr unsigned long kTimerSlackNs = 1000;

}  // namespace

MpiScope::MpiScope(int* argc, char*** argv) : exceptions_(std::uncaught_exceptions()) {
  const TimedCall guard(kStartDeadline_s, "MPI_Init");
  // Open MPI opens every file with a shared file pointer, which Rollcall does not use. Its
  // component sm, which keeps that pointer in memory, copies the file's name into a buffer that is
  // too short: ranks crash from about 200 characters on. The user's own setting is respected.
  ::setenv("OMPI_MCA_sharedfp", "^sm,lockedfile", 0);
  int running = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&running);
  owner_ = !running;
  const int code = running ? MPI_Query_thread(&provided)
                           : MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  require<EnvironmentError>(
      code == MPI_SUCCESS, "MPI does not start", "the ranks of the job talk through it",
      "start the job with the launcher of the same MPI: mpirun, or srun --mpi=pmix");
  require<EnvironmentError>(
      provided >= MPI_THREAD_FUNNELED, fmt::format("MPI offers thread level {}", provided),
      "ranks compute with threads while one of them talks to MPI (MPI_THREAD_FUNNELED)",
      "use an MPI built with threads");
  if (owner_) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);  // its failure is harmless: short sleeps end later
}

MpiScope::~MpiScope() {
  if (!owner_) return;
  if (std::uncaught_exceptions() > exceptions_) {
    log_critical(
        "an exception leaves the MPI scope (the other ranks would wait for this one forever); the "
        "job is aborted");
    flush_log();
    MPI_Abort(MPI_COMM_WORLD, int(ExitCode::failed));
  }
  const TimedCall guard(kStartDeadline_s, "MPI_Finalize");
  MPI_Finalize();
}

std::unique_ptr<Communicator> MpiScope::world() const { return duplicate(MPI_COMM_WORLD); }

std::string MpiScope::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, std::size_t(length));
  // Open MPI and MPICH append the options of their build.
  return version.substr(0, version.find_first_of(",\n"));
}

}  // namespace rollcall::comm
