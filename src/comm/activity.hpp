// What a rank does and waits for, written by the thread that works and read by other threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace rollcall::comm {

/// There is one object for all communicators of a rank. Writing is cheap: a short wait costs one
/// atomic addition, and a reader never delays the writer.
class Activity {
 public:
  /// Notes that the rank begins the task `what` ("update of step 5"); "" ends the current task.
  void begin(const std::string& what);
  /// Notes what holds the task up ("waiting for the environment: 3 conversations"), next to its
  /// name; "" ends that, and so does the next task. Any thread of the rank may call it. It does not
  /// count as progress.
  void held_up(const std::string& by);
  std::string what() const;  ///< the task, and what holds it up
  /// Notes that some work is done. Any thread of the rank may call it.
  void progressed() noexcept { pulses_.fetch_add(1, std::memory_order_relaxed); }
  /// Called before every sleep of a wait, with what the rank waits for ("for the plan of step 3",
  /// "in MPI_Iallreduce"). It counts a poll, which shows that the rank is alive, but no progress.
  void waits(std::string_view what);
  void wait_ended() noexcept;

  struct Sight {
    std::string activity, waits;  ///< the task and what the rank waits for; `waits` is empty while
                                  ///< the rank works
    double activity_s = 0.0, waits_s = 0.0;
    std::uint64_t pulses = 0, polls = 0;  ///< progress and polls counted so far
  };
  Sight look() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::uint64_t> pulses_ = 0, polls_ = 0;
  bool asleep_ = false;  ///< used only by the thread that waits
  mutable std::mutex mutex_;
  std::string activity_, held_up_, waits_;
  Clock::time_point began_ = Clock::now(), wait_began_{};
};

}  // namespace rollcall::comm
