// A rank's micro-batches and its threads: one micro-batch a thread where there are enough of both,
// else all threads in each micro-batch's operations.
#pragma once

#include "comm/communicator.hpp"
#include "model/engine/policy.hpp"
#include "run/workers/worker_pool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rollcall::run {

/// A rank's micro-batches of `count`, ascending: i belongs to rank i mod R. Who computes a
/// micro-batch changes nothing.
std::vector<std::int64_t> own_micro_batches(std::int64_t count, const comm::Communicator& ranks);

/// Runs leaves on a pool, with memory that stays from call to call: that a kernel clears it for
/// each step took a tenth of the step. Bits do not depend on the way it is done.
class MicroBatchWorkers {
 public:
  /// `on_device`: all micro-batches of one after the other are the caller's, who may speak to other
  /// ranks on the way: a device needs no threads.
  explicit MicroBatchWorkers(WorkerPool& pool, bool on_device = false)
      : pool_(&pool), on_device_(on_device) {}
  /// What a micro-batch may take, and how many may be in memory at a time (sizing::MemoryUse).
  /// Before the first run.
  void fit(int at_once, std::int64_t micro_batch_bytes) {
    at_once_ = at_once, micro_batch_bytes_ = micro_batch_bytes;
  }
  /// Calls work(runner, i) for every i in [0, count), each once, in any order; a runner serves one
  /// call at a time. Rethrows what one threw.
  void run(std::int64_t count,
           const std::function<void(model::MicroBatchRunner& runner, std::int64_t i)>& work);

 private:
  struct Member {
    Member(int threads, std::int64_t micro_batch_bytes)
        : team(threads), runner(team, micro_batch_bytes) {}
    model::Team team;
    model::MicroBatchRunner runner;
  };
  bool side_by_side(std::int64_t count) const;

  WorkerPool* pool_;
  bool on_device_;
  int at_once_ = 0;  ///< 0: as many as there are threads
  std::int64_t micro_batch_bytes_ = model::MicroBatchRunner::kNoLimit;
  std::vector<std::unique_ptr<Member>> apart_;  ///< [thread]
  std::unique_ptr<Member> together_;
};

}  // namespace rollcall::run
