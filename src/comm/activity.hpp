// What a rank does and waits for: told by the thread that does it, read by another that looks on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace rollcall::comm {

/// One for all communicators that stem from a world. Cheap for who tells: a short wait costs one
/// atomic addition, and nothing waits for whoever looks on.
class Activity {
 public:
  /// What the rank is at ("update of step 5"; empty between two tasks).
  void begin(const std::string& what);
  std::string what() const;
  /// Some work is done. From any thread of the rank.
  void progressed() noexcept { pulses_.fetch_add(1, std::memory_order_relaxed); }
  /// Before every sleep of a wait: what for ("for the plan of step 3", "in MPI_Iallreduce"). Who
  /// polls is alive, but gets no further.
  void waits(std::string_view what);
  void wait_ended() noexcept;

  struct Sight {
    std::string activity, waits;  ///< waits: empty where it works
    double activity_s = 0.0, waits_s = 0.0;
    std::uint64_t pulses = 0, polls = 0;  ///< so far
  };
  Sight look() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::uint64_t> pulses_ = 0, polls_ = 0;
  bool asleep_ = false;  ///< of the thread that waits alone
  mutable std::mutex mutex_;
  std::string activity_, waits_;
  Clock::time_point began_ = Clock::now(), wait_began_{};
};

}  // namespace rollcall::comm
