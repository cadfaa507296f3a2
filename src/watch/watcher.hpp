// A thread beside each rank that writes down what the rank does and, when nobody gets anything
// done, says why.
#pragma once

#include "base/clock.hpp"
#include "comm/communicator.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace rollcall::watch {

/// How long this process was suspended so far, in seconds, as far as its watch has seen: what took
/// a
/// time by another clock took that much less.
double stood_still_s();

/// A stopwatch without it.
class WorkingTime {
 public:
  double seconds() const { return clock_.seconds() - (stood_still_s() - before_s_); }

 private:
  Stopwatch clock_;
  double before_s_ = stood_still_s();
};

/// Never calls MPI and never fails a run. Made by the thread that it watches.
class Watcher {
 public:
  /// `stages`: what this rank hosts; `watch_s` above 0. Collective: the ranks compare their clocks.
  Watcher(comm::Communicator& world, std::filesystem::path run_dir, std::string stages,
          double watch_s);
  /// Gives the thread a moment; one that a file system holds is left alone.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  struct End;
  std::shared_ptr<End> end_;
};

}  // namespace rollcall::watch
