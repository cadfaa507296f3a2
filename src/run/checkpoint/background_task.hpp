// A function that runs on its own thread, and its result. The function owns everything that it
// uses, because an abandoned task continues to run.
#pragma once

#include "base/errors/error.hpp"
#include "comm/deadline.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

namespace rollcall::run {

/// A future that does not wait for its thread forever. After a failure elsewhere, a file system
/// that hangs must not keep the job from ending.
template <class Result>
class BackgroundTask {
 public:
  BackgroundTask() = default;
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;
  /// Waits a moment for the work, because the libraries that it uses are unloaded when the process
  /// ends.
  ~BackgroundTask() {
    constexpr std::chrono::seconds kMoment{5};
    if (running()) result_.wait_for(kMoment);
  }

  bool running() const { return result_.valid(); }

  /// Whether no work is running. The result of work that has ended stays until poll() or wait().
  bool ended() const {
    return !running() || result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  /// Starts the work. No other work may be running.
  void start(std::function<Result()> work) {
    expect(!running(), "one task at a time");
    std::packaged_task<Result()> task(std::move(work));
    result_ = task.get_future();
    std::thread(std::move(task)).detach();
  }

  /// The result if the work has ended, otherwise nothing. Rethrows what the work threw.
  std::optional<Result> poll() {
    if (!running() || result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return std::nullopt;
    return result_.get();
  }

  /// The result, after at most `deadline_s` seconds. Throws StorageError naming the wait.
  Result wait(double deadline_s, const std::string& waiting_for) {
    constexpr std::chrono::milliseconds kLook{100};
    comm::Deadline deadline(deadline_s);
    while (result_.wait_for(kLook) != std::future_status::ready && !deadline.is_over()) continue;
    require<StorageError>(ended(), fmt::format("waited {:.3g} s for {}", deadline_s, waiting_for),
                          "the file system does not answer", "check it, or raise run.deadline_s");
    return result_.get();
  }

 private:
  std::future<Result> result_;
};

}  // namespace rollcall::run
