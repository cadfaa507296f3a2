// Batches of samples between the threads that want verdicts and the thread that runs the grader
// command.
#pragma once

#include "reward/command/dispatch.hpp"
#include "reward/command/spawner.hpp"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::reward {

/// Every batch that is added comes out once, with a verdict for each sample, unless fail() is
/// called. Any thread may call any function.
class BatchQueue {
 public:
  using Added = std::pair<std::uint64_t, std::vector<Sample>>;    ///< number and samples
  using Judged = std::pair<std::uint64_t, std::vector<Verdict>>;  ///< number and verdicts

  BatchQueue();

  // For the threads that want verdicts:

  /// Returns at once, with the batch's number, counted from 0. An empty batch counts as judged.
  std::uint64_t add(std::vector<Sample> samples);
  /// The judged batch with the lowest number; nothing while there is none. Throws the exception
  /// that was given to fail().
  std::optional<Judged> take();
  /// Like take(), but waits for a judged batch. A batch must have been added.
  Judged await();
  /// Asks the thread that runs the grader command to end.
  void close();

  // For the thread that runs the grader command:

  /// The batches that were added since the last call; nothing once the queue is closed.
  std::optional<std::vector<Added>> collect();
  void finish(std::uint64_t number, std::vector<Verdict> verdicts);
  /// From now on take() and await() throw this exception.
  void fail(std::exception_ptr failure);
  /// A file descriptor that is readable after add() or close(), until it is read.
  int wake_fd() const { return wake_.fd(); }

 private:
  std::optional<Judged> take_judged();
  void wake() const;

  Pipe wake_;         // an eventfd
  std::mutex mutex_;  // guards everything below
  std::condition_variable judged_or_failed_;
  std::vector<Added> added_;
  std::map<std::uint64_t, std::vector<Verdict>> judged_;
  std::uint64_t batches_ = 0;  // added so far
  std::exception_ptr failure_;
  bool closed_ = false;
};

}  // namespace rollcall::reward
