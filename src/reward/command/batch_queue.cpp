// One lock around the batches, a condition for the threads that wait for verdicts, and an eventfd
// for the thread that polls the grader's pipes.
#include "reward/command/batch_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace rollcall::reward {

BatchQueue::BatchQueue() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

std::uint64_t BatchQueue::add(std::vector<Sample> samples) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = batches_++;
  if (samples.empty()) {
    judged_[number] = {};
    judged_or_failed_.notify_all();
  } else {
    added_.emplace_back(number, std::move(samples));
  }
  wake();
  return number;
}

std::optional<BatchQueue::Judged> BatchQueue::take() {
  const std::lock_guard lock(mutex_);
  return take_judged();
}

BatchQueue::Judged BatchQueue::await() {
  std::unique_lock lock(mutex_);
  judged_or_failed_.wait(lock, [&] { return !judged_.empty() || failure_; });
  return *take_judged();
}

std::optional<BatchQueue::Judged> BatchQueue::take_judged() {
  if (failure_) std::rethrow_exception(failure_);
  if (judged_.empty()) return std::nullopt;
  auto node = judged_.extract(judged_.begin());
  return Judged(node.key(), std::move(node.mapped()));
}

void BatchQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake();
}

std::optional<std::vector<BatchQueue::Added>> BatchQueue::collect() {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  return std::exchange(added_, {});
}

void BatchQueue::finish(std::uint64_t number, std::vector<Verdict> verdicts) {
  const std::lock_guard lock(mutex_);
  judged_[number] = std::move(verdicts);
  judged_or_failed_.notify_all();
}

void BatchQueue::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  judged_or_failed_.notify_all();
}

void BatchQueue::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.fd(), &one, sizeof one);
}

}  // namespace rollcall::reward
