// Keeps the texts of an activity under a mutex. Its two counters are atomic and need none.
#include "comm/activity.hpp"

namespace rollcall::comm {
namespace {

std::string named(const std::string& task, const std::string& held_up) {
  return task.empty() || held_up.empty() ? task + held_up : task + ", " + held_up;
}

}  // namespace

void Activity::begin(const std::string& what) {
  progressed();
  const std::lock_guard lock(mutex_);
  if (activity_ == what) return;  // keeps the time at which the task began
  activity_ = what, began_ = Clock::now();
  held_up_.clear();
}

void Activity::held_up(const std::string& by) {
  const std::lock_guard lock(mutex_);
  held_up_ = by;
}

std::string Activity::what() const {
  const std::lock_guard lock(mutex_);
  return named(activity_, held_up_);
}

void Activity::waits(std::string_view what) {
  polls_.fetch_add(1, std::memory_order_relaxed);
  if (asleep_) return;
  asleep_ = true;
  const std::lock_guard lock(mutex_);
  waits_ = what, wait_began_ = Clock::now();
}

void Activity::wait_ended() noexcept {
  progressed();
  if (!asleep_) return;
  asleep_ = false;
  const std::lock_guard lock(mutex_);
  waits_.clear();
}

Activity::Sight Activity::look() const {
  const auto seconds = [now = Clock::now()](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  const std::lock_guard lock(mutex_);
  return {named(activity_, held_up_),
          waits_,
          seconds(began_),
          waits_.empty() ? 0.0 : seconds(wait_began_),
          pulses_.load(),
          polls_.load()};
}

}  // namespace rollcall::comm
