// Checks of MPI's return codes and message sizes, and the end of a job.
#include "comm/mpi_calls.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "comm/timed_call.hpp"

#include <fmt/format.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

namespace rollcall::comm {

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

void abort_job(MPI_Comm comm, int exit_code) {
  flush_log();
  std::fflush(nullptr);
  constexpr double kAbortDeadline_s = 10.0;  // a launcher that is gone does not answer
  const TimedCall guard(kAbortDeadline_s, "MPI_Abort");
  MPI_Abort(comm, exit_code);
  std::_Exit(exit_code);  // MPI_Abort may return when the launcher is gone
}

}  // namespace rollcall::comm
