// A rank's leaves and its threads: one leaf a thread where there are enough of both, else all threads in each leaf's operations.
#pragma once

#include "comm/communicator.hpp"
#include "model/policy.hpp"
#include "stages/worker_pool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rollcall::stages {

/// A rank's leaves of `count`, ascending: i belongs to rank i mod R. Who computes a leaf changes nothing.
std::vector<std::int64_t> own_leaves(std::int64_t count, const comm::Communicator& ranks);

/// Runs leaves on a pool, with memory that stays from call to call: that a kernel clears it for each step took a tenth of the step. Bits do not depend on the
/// way it is done.
class Leaves {
 public:
  /// `on_device`: all leaves of one after the other are the caller's, who may speak to other ranks on the way: a device needs no threads.
  explicit Leaves(WorkerPool& pool, bool on_device = false) : pool_(&pool), on_device_(on_device) {}
  /// What a leaf may take, and how many may be in memory at a time (MemoryUse). Before the first run.
  void fit(int at_once, std::int64_t leaf_bytes) { at_once_ = at_once, leaf_bytes_ = leaf_bytes; }
  /// Calls work(runner, i) for every i in [0, count), each once, in any order; a runner serves one call at a time. Rethrows what one threw.
  void run(std::int64_t count, const std::function<void(model::LeafRunner& runner, std::int64_t i)>& work);

 private:
  struct Member {
    Member(int threads, std::int64_t leaf_bytes) : team(threads), runner(team, leaf_bytes) {}
    model::Team team;
    model::LeafRunner runner;
  };
  bool side_by_side(std::int64_t count) const;

  WorkerPool* pool_;
  bool on_device_;
  int at_once_ = 0;  ///< 0: as many as there are threads
  std::int64_t leaf_bytes_ = model::LeafRunner::kNoLimit;
  std::vector<std::unique_ptr<Member>> apart_;  ///< [thread]
  std::unique_ptr<Member> together_;
};

}  // namespace rollcall::stages
