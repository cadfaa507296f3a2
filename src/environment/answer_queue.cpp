// A list under a lock, and a sleep until something is in it.
#include "environment/answer_queue.hpp"

#include <chrono>

namespace rollcall::environment {

void AnswerQueue::put(std::uint64_t conversation, Answer answer) {
  // Who takes the answer may end the queue, so nothing of it is used once the lock is free.
  const std::lock_guard lock(mutex_);
  answers_.emplace_back(conversation, std::move(answer));
  came_.notify_one();
}

void AnswerQueue::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  came_.notify_one();
}

std::vector<AnswerQueue::Late> AnswerQueue::take(double wait_s) {
  std::unique_lock lock(mutex_);
  if (wait_s > 0)
    came_.wait_for(lock, std::chrono::duration<double>(wait_s),
                   [&] { return failure_ || !answers_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(answers_, {});
}

}  // namespace rollcall::environment
