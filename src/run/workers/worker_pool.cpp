// Every thread takes the next index under one mutex and works on it without the mutex.
#include "run/workers/worker_pool.hpp"

#include <utility>

namespace rollcall::run {

WorkerPool::WorkerPool(int threads) {
  try {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { serve(t); });
  } catch (...) {  // no more threads can be started, and those that run would wait forever
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
    wake_.wait(lock, [&] { return closing_ || calls_ != seen; });
    if (closing_) return;
    seen = calls_;
    drain(thread, lock);
  }
}

void WorkerPool::drain(int thread, std::unique_lock<std::mutex>& lock) {
  // A thread that finds enough others at work leaves the remaining indices to them.
  while (call_.next < call_.count && busy_ < call_.at_once) {
    const std::int64_t index = call_.next++;
    ++busy_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*call_.work)(index, thread);
    } catch (...) {
      thrown = std::current_exception();
    }
    progressed();
    lock.lock();
    --busy_;
    if (thrown && (call_.failed_index < 0 || index < call_.failed_index)) {
      call_.failed_index = index;
      call_.failure = thrown;
    }
  }
  if (busy_ == 0) done_.notify_all();
}

void WorkerPool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& work,
                     int at_once) {
  std::unique_lock lock(mutex_);
  call_ = {.work = &work, .count = count, .at_once = at_once > 0 ? at_once : threads()};
  ++calls_;
  wake_.notify_all();
  drain(0, lock);
  done_.wait(lock, [&] { return busy_ == 0 && call_.next >= call_.count; });
  const Call ended = std::exchange(call_, Call{});
  if (ended.failure) std::rethrow_exception(ended.failure);
}

}  // namespace rollcall::run
