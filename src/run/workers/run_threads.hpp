// The threads of a rank, and the state that they share while they carry out a plan.
#pragma once

#include "run/workers/micro_batch_workers.hpp"
#include "run/workers/step_cut.hpp"
#include "run/workers/worker_pool.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace rollcall::run {

/// What this rank has drawn since its start. The threads that draw add to it, and a thread that
/// shows progress reads it.
struct DrawCounts {
  std::atomic<std::int64_t> rollouts = 0, tokens = 0;
};

struct RunThreads {
  std::unique_ptr<WorkerPool> pool;
  std::unique_ptr<MicroBatchWorkers> micro_batches;            ///< runs micro-batches on `pool`
  std::shared_ptr<StepCut> cut = std::make_shared<StepCut>();  ///< whether the plan that is carried
                                                               ///< out is cut short
  std::shared_ptr<DrawCounts> drawn = std::make_shared<DrawCounts>();
};

}  // namespace rollcall::run
