// A queue of answers that arrive later, for the thread that waits for them.
#pragma once

#include "environment/talk.hpp"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace rollcall::environment {

/// One for each thread that drives conversations. Any thread may put an answer in.
class AnswerQueue {
 public:
  using Late = std::pair<std::uint64_t, Answer>;  ///< number of the conversation, answer

  void put(std::uint64_t conversation, Answer answer);
  /// No further answer comes: from now on take() throws this exception.
  void fail(std::exception_ptr failure);
  /// All answers that have arrived, in order of arrival. If there are none and `wait_s` > 0, sleeps
  /// until one arrives, for at most `wait_s`.
  std::vector<Late> take(double wait_s = 0.0);

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Late> answers_;
  std::exception_ptr failure_;
};

}  // namespace rollcall::environment
