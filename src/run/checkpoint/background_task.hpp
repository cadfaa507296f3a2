// One piece of work on a thread of its own, and what came of it. The work owns all it touches: a
// task that is given up runs on alone.
#pragma once

#include "base/error.hpp"
#include "comm/deadline.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

namespace rollcall::run {

/// A future whose thread is given up in the end: after a failure elsewhere a stuck file system must
/// not keep the job from ending.
template <class Result>
class BackgroundTask {
 public:
  BackgroundTask() = default;
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;
  /// Gives the work a moment: as the process ends, libraries that it uses are taken down.
  ~BackgroundTask() {
    constexpr std::chrono::seconds kMoment{5};
    if (running()) result_.wait_for(kMoment);
  }

  bool running() const { return result_.valid(); }

  /// Whether the work at hand, if any, has ended; its result still waits for poll().
  bool ended() const {
    return !running() || result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  /// Only when none is running.
  void start(std::function<Result()> work) {
    expect(!running(), "one task at a time");
    std::packaged_task<Result()> task(std::move(work));
    result_ = task.get_future();
    std::thread(std::move(task)).detach();
  }

  /// The result once it is there; rethrows what the work threw.
  std::optional<Result> poll() {
    if (!running() || result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return std::nullopt;
    return result_.get();
  }

  /// Waits at most `deadline_s`; throws StorageError naming the wait.
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
