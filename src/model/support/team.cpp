// The leader publishes the number of a round of work, and each member does its part and counts
// down.
#include "model/support/team.hpp"

#include <thread>
#include <utility>
#include <vector>

namespace rollcall::model {
namespace {

/// Spins before a thread falls asleep: about a tenth of a millisecond. That is longer than most
/// operations, and longer than it takes to fall asleep and to wake up.
constexpr int kSpins = 8192;
/// Spins after which the core is yielded, because the awaited thread may share it.
constexpr int kSpinsToYield = 512;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until the value differs from `old`, and returns it.
std::uint32_t changed(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (const std::uint32_t now = value.load(std::memory_order_acquire); now != old) return now;
    spin % kSpinsToYield == kSpinsToYield - 1 ? std::this_thread::yield() : pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

void on_new_threads(int count, const std::function<void(int)>& part) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](int index) {
    try {
      part(index);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  enum class Gate { closed, open, never };
  std::atomic<Gate> gate{Gate::closed};  // Parts may wait for each other, so none may begin before
                                         // all have a thread.
  const auto opened = [&](Gate to) {
    gate = to;
    gate.notify_all();
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int index = 1; index < count; ++index)
        others.emplace_back([&, index] {
          gate.wait(Gate::closed);
          if (gate == Gate::open) guarded(index);
        });
    } catch (...) {  // the system has no more threads
      opened(Gate::never);
      throw;
    }
    opened(Gate::open);
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

void Team::lead(const SideBySide& side_by_side, const std::function<void()>& body) {
  if (size_ == 1) return body();
  dismissed_ = false, leading_ = true;
  const std::uint32_t begun = round_.load(std::memory_order_relaxed);
  side_by_side(size_, [&](int member) {
    if (member > 0) return serve(member, begun);
    struct Dismissal {
      Team& team;
      ~Dismissal() {
        team.dismissed_ = true, team.leading_ = false;
        team.round_.fetch_add(1, std::memory_order_release);
        team.round_.notify_all();
      }
    } const at_the_end{*this};
    body();
  });
}

void Team::attempt(int member) {
  try {
    call_(work_, member);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void Team::together() {
  pending_.store(std::uint32_t(size_ - 1), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  attempt(0);
  for (std::uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;)
    changed(pending_, left);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::serve(int member, std::uint32_t seen) {
  for (;;) {
    const std::uint32_t now = changed(round_, seen);
    if (now == seen) continue;
    seen = now;
    if (dismissed_) return;
    attempt(member);
    pending_.fetch_sub(1, std::memory_order_acq_rel);
    pending_.notify_one();
  }
}

}  // namespace rollcall::model
