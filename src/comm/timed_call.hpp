// A deadline for calls that block inside a library and cannot be polled: start and end of MPI,
// splits, collective HDF5.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::comm {

/// Runs a timer during such a call; time for which the process is suspended does not count. When
/// the time is up, the process prints one message and ends with exit code 3, and the launcher ends
/// the job. A rank that blocks inside a call cannot answer a roll call. Therefore every rank whose
/// time is up puts a mark into a file beside the failure file, and the first one names the ranks
/// without a mark. A process has one timer: a TimedCall within another one does nothing.
class TimedCall {
 public:
  /// `parties` is [ranks]: the name of each rank for the message, or an empty string for a rank
  /// that does not take part. Without `parties`, the message names no rank.
  TimedCall(double deadline_s, const std::string& what,
            const std::vector<std::string>& parties = {});
  ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  /// Names the failure file. The first rank whose time is up writes its message to `file`; ranks
  /// that find the file there print nothing. The marks are in `file` + ".roll", one byte per rank.
  static void note_failure_in(const std::filesystem::path& file, int rank);

 private:
  bool owner_ = false;
};

}  // namespace rollcall::comm
