// Divides the threads of a rank among its micro-batches. If there are enough of them, each thread
// computes its own micro-batch. Otherwise all threads share the operations of one micro-batch.
#pragma once

#include "comm/communicator.hpp"
#include "model/engine/policy.hpp"
#include "run/workers/worker_pool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rollcall::run {

/// Numbers of the micro-batches that this rank computes, ascending: number i belongs to rank i mod
/// R. No bit depends on which rank computes which.
std::vector<std::int64_t> own_micro_batches(std::int64_t count, const comm::Communicator& ranks);

/// Runs micro-batches on a pool. Their memory is kept from call to call, because clearing new
/// memory took a tenth of each step. No bit depends on how the threads are divided.
class MicroBatchWorkers {
 public:
  /// `on_device`: the calling thread runs all micro-batches in order, and may communicate with
  /// other ranks meanwhile. A device needs no further threads.
  explicit MicroBatchWorkers(WorkerPool& pool, bool on_device = false)
      : pool_(&pool), on_device_(on_device) {}
  /// Sets the memory that a micro-batch may use, and how many may be in memory at a time
  /// (sizing::MemoryUse). To be called before the first run.
  void fit(int at_once, std::int64_t micro_batch_bytes) {
    at_once_ = at_once, micro_batch_bytes_ = micro_batch_bytes;
  }
  /// Calls work(runner, i) once for every i in [0, count), in any order. A runner serves one call
  /// at a time. Rethrows the exception of a call.
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
  int at_once_ = 0;  ///< micro-batches in memory at a time; 0: one for each thread
  std::int64_t micro_batch_bytes_ = model::MicroBatchRunner::kNoLimit;
  std::vector<std::unique_ptr<Member>> apart_;  ///< [thread]
  std::unique_ptr<Member> together_;
};

}  // namespace rollcall::run
