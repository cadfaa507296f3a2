// A deadline for calls that block inside a library and cannot be polled: start and end of MPI,
// splits, collective HDF5.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::comm {

/// While it lives, a timer runs; time in which the process is suspended does not count. When it
/// ends,
/// the process writes one message and ends with exit code 3, and its launcher ends the job.
/// Who blocks inside such a call cannot answer a question, so whoever's timer ends signs a roll
/// beside the failure file, and the first names those that did not. One at a time in a process: an
/// inner one changes nothing.
class TimedCall {
 public:
  /// `parties` [rank]: how to name each rank that takes part in the call, empty for one that does
  /// not; without it nobody is named.
  TimedCall(double deadline_s, const std::string& what,
            const std::vector<std::string>& parties = {});
  ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  /// Where the first rank leaves its message; the others that find it there stay silent. The roll
  /// is `file` with ".roll", a byte a rank.
  static void note_failure_in(const std::filesystem::path& file, int rank);

 private:
  bool owner_ = false;
};

}  // namespace rollcall::comm
