// One mutex, two conditions, an index that everybody draws from.
#include "run/context/worker_pool.hpp"

namespace rollcall::run {

WorkerPool::WorkerPool(int threads) {
  try {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { serve(t); });
  } catch (...) {  // the system gives no more threads; those that run would wait for ever
    close();
    throw;
  }
}

WorkerPool::~WorkerPool() { close(); }

void WorkerPool::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
}

void WorkerPool::serve(int thread) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    wake_.wait(lock, [&] { return closing_ || round_ != seen; });
    if (closing_) return;
    seen = round_;
    drain(thread, lock);
  }
}

void WorkerPool::drain(int thread, std::unique_lock<std::mutex>& lock) {
  while (next_ < count_ && busy_ < most_busy_) {  // who finds enough at work leaves them the rest
    const std::int64_t index = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*work_)(index, thread);
    } catch (...) {
      thrown = std::current_exception();
    }
    progressed();
    lock.lock();
    --busy_;
    if (thrown && (failed_index_ < 0 || index < failed_index_))
      failed_index_ = index, failure_ = thrown;
  }
  if (busy_ == 0) done_.notify_all();
}

void WorkerPool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& work,
                     int together) {
  std::unique_lock lock(mutex_);
  work_ = &work, next_ = 0, count_ = count, most_busy_ = together > 0 ? together : threads(),
  failed_index_ = -1, failure_ = nullptr;
  ++round_;
  wake_.notify_all();
  drain(0, lock);
  done_.wait(lock, [&] { return busy_ == 0 && next_ >= count_; });
  work_ = nullptr, count_ = 0, next_ = 0;
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace rollcall::run
