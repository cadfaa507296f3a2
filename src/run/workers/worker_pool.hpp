// The threads of a rank. They work on different micro-batches, or together inside one operation of
// decoding. The number of threads does not change any bits.
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

/// Threads that live as long as the pool. The thread that calls run() works as one of them.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Names the activity to which every finished index is reported, so that the watch of the ranks
  /// does not take a long call for a rank that hangs.
  void report_to(std::shared_ptr<comm::Activity> activity) { activity_ = std::move(activity); }
  /// Reports progress within the work on one index. May be called from any thread.
  void progressed() const {
    if (activity_) activity_->progressed();
  }
  /// Says what delays the activity; "" ends the delay. May be called from any thread.
  void held_up(const std::string& by) const {
    if (activity_) activity_->held_up(by);
  }

  int threads() const { return int(workers_.size()) + 1; }
  /// Calls work(index, thread) once for every index in [0, count), in any order. At most `at_once`
  /// calls run at the same time; 0 allows threads() of them. Every index is worked on even if one
  /// throws; then the exception of the lowest such index is thrown again.
  void run(std::int64_t count, const std::function<void(std::int64_t index, int thread)>& work,
           int at_once = 0);
  /// Lends the threads to code that needs up to threads() of them at the same time.
  model::SideBySide side_by_side() {
    return [this](int count, const std::function<void(int)>& part) {
      run(count, [&](std::int64_t index, int) { part(int(index)); });
    };
  }

 private:
  /// One call of run(): the indices that are left, and the first failure.
  struct Call {
    const std::function<void(std::int64_t, int)>* work = nullptr;
    std::int64_t next = 0, count = 0;  ///< the index that is taken next; the number of indices
    std::int64_t at_once = 0;          ///< limit on the threads that work at the same time
    std::int64_t failed_index = -1;    ///< lowest index whose work threw; -1: no work has thrown
    std::exception_ptr failure{};      ///< what the work on failed_index threw
  };
  void close();
  void serve(int thread);
  void drain(int thread, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<comm::Activity> activity_;
  std::mutex mutex_;  ///< guards all members below but `workers_`
  std::condition_variable wake_, done_;
  Call call_;                ///< the call of run() under way; between two calls no index is left
  std::int64_t busy_ = 0;    ///< threads that are inside `work`
  std::uint64_t calls_ = 0;  ///< calls of run() so far, by which a waiting thread sees a new one
  bool closing_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace rollcall::run
