// The thread of a server, which runs all its coroutines, and work that other threads post to it.
#pragma once

#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not include it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rollcall::http {

namespace asio = boost::asio;

class Loop {
 public:
  using Work = std::function<void()>;
  /// Starts the thread, in which all signals are blocked. `failed` gets what work and coroutines
  /// throw.
  explicit Loop(std::function<void(std::exception_ptr)> failed);
  ~Loop();  ///< end() without last work, if it was not called
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  asio::io_context& context() { return context_; }
  /// Runs `work` on the thread, in the order of the calls; drops it after end(). Any thread may call
  /// it.
  void post(Work work);
  /// Runs a coroutine on the thread.
  void spawn(asio::awaitable<void> coroutine);
  /// Runs `work` here, on the loop's thread, and gives `failed` what it throws. Whether it threw
  /// nothing.
  bool attempt(const Work& work);
  /// Runs `last` on the thread, behind what was posted, and waits until all coroutines have ended.
  void end(Work last);
  double processor_s() const;  ///< processor time of the thread [s]

 private:
  void drain();

  std::function<void(std::exception_ptr)> failed_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::mutex mutex_;          ///< guards the two members below
  std::vector<Work> posted_;  ///< drain() is on its way if there is any
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace rollcall::http
