// A thread of each rank that records the rank's activity. When the run makes no progress, it says
// why.
#pragma once

#include "base/time/clock.hpp"
#include "comm/communicator.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace rollcall::watch {

/// The time for which this process has been suspended so far [s], as far as its watch has noticed.
/// A duration measured on another clock is too long by the suspensions within it.
double stood_still_s();

/// A stopwatch that leaves out the suspensions of this process.
class WorkingTime {
 public:
  double seconds() const { return clock_.seconds() - (stood_still_s() - before_s_); }

 private:
  Stopwatch clock_;
  double before_s_ = stood_still_s();
};

/// The watching thread never calls MPI, and no fault that it meets makes the run fail. The watcher
/// must be constructed by the thread that it watches.
class Watcher {
 public:
  /// `stages` names the stages that this rank hosts, and `watch_s` must be above 0. Collective,
  /// because the ranks compare their clocks.
  Watcher(comm::Communicator& world, std::filesystem::path run_dir, std::string stages,
          double watch_s);
  /// Waits for the thread for up to two seconds; a thread that hangs in a file system is left
  /// running.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  struct End;
  std::shared_ptr<End> end_;
};

}  // namespace rollcall::watch
