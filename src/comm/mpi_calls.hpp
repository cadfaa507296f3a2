// MPI calls that all parts of comm's MPI code share. Private to comm.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace rollcall::comm {

/// Deadline of MPI_Init and MPI_Comm_dup, which run before the run file is read, and of
/// MPI_Finalize [s]: ranks may start and end at different times.
constexpr double kStartDeadline_s = 600.0;

/// Throws ProtocolError with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Refuses more than 2^31 - 1 bytes, because MPI counts in int. Control messages are kilobytes;
/// larger data travels by broadcast or as a file.
void require_one_message(std::size_t bytes, const char* what);

/// Ends the job of this communicator at once with this exit code.
[[noreturn]] void abort_job(MPI_Comm comm, int exit_code);

}  // namespace rollcall::comm
