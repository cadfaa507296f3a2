// A thread beside each rank that writes down what the rank does and, when nobody gets anything done, says why.
#pragma once

#include "comm/communicator.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace rollcall::stages {

/// Never calls MPI and never fails a run. Made by the thread that it watches.
class Watcher {
 public:
  /// `stages`: what this rank hosts; `watch_s` above 0. Collective: the ranks compare their clocks.
  Watcher(comm::Communicator& world, std::filesystem::path run_dir, std::string stages, double watch_s);
  /// Gives the thread a moment; one that a file system holds is left alone.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  struct End;
  std::shared_ptr<End> end_;
};

}  // namespace rollcall::stages
