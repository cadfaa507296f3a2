// Threads that make pages beside the thread that answers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rollcall::view {

class Makers {
 public:
  explicit Makers(int threads);
  ~Makers();  ///< drops what has not begun, and waits for the rest
  Makers(const Makers&) = delete;
  Makers& operator=(const Makers&) = delete;
  /// `work` throws nothing. Any thread may call it.
  void add(std::function<void()> work);

 private:
  void serve();

  std::mutex mutex_;  ///< guards the members before the threads
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace rollcall::view
