// Threads of a rank: parallel over micro-batches, or together inside the operations of decoding.
// Their number changes no bits.
#pragma once

#include "comm/activity.hpp"
#include "model/support/team.hpp"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::run {

/// Persistent workers; the calling thread is one of them.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Who hears that an index is done: only then does a long call count as progress.
  void report_to(std::shared_ptr<comm::Activity> activity) { activity_ = std::move(activity); }
  /// The same for a part of an index. From any thread.
  void progressed() const {
    if (activity_) activity_->progressed();
  }

  int threads() const { return int(workers_.size()) + 1; }
  /// Calls work(index, thread) for every index in [0, count), each once, in any order, at most
  /// `together` at a time (0: as many as there are threads). Rethrows the exception of the lowest
  /// index that threw.
  void run(std::int64_t count, const std::function<void(std::int64_t index, int thread)>& work,
           int together = 0);
  /// The pool's threads for what needs up to threads() of them at the same time.
  model::SideBySide side_by_side() {
    return [this](int count, const std::function<void(int)>& part) {
      run(count, [&](std::int64_t index, int) { part(int(index)); });
    };
  }

 private:
  void close();
  void serve(int thread);
  void drain(int thread, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<comm::Activity> activity_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t, int)>* work_ = nullptr;
  std::int64_t next_ = 0, count_ = 0, busy_ = 0, most_busy_ = 0, failed_index_ = -1;
  std::uint64_t round_ = 0;
  std::exception_ptr failure_;
  bool closing_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace rollcall::run
