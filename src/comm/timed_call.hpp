// A deadline for calls that block inside a library and cannot be polled: start and end of MPI, splits, collective HDF5.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::comm {

/// While it lives, a timer runs; when that ends, the process writes one message and ends with exit code 3, and its launcher ends the job.
/// One at a time in a process: an inner one changes nothing.
class TimedCall {
 public:
  TimedCall(double deadline_s, const std::string& what);
  ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  /// Where the first rank leaves its message; the others that find it there stay silent.
  static void note_failure_in(const std::filesystem::path& file);

 private:
  bool owner_ = false;
};

}  // namespace rollcall::comm
