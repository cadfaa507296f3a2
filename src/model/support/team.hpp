// Threads that share one operation. Each computes some of the outputs. No sum is split between
// threads, so the number of threads does not change any bits.
#pragma once

#include "base/errors/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace rollcall::model {

/// Runs part(0) .. part(count - 1) in parallel, each on its own thread, and returns when all have
/// returned. Rethrows an exception of any of them.
using SideBySide = std::function<void(int count, const std::function<void(int)>& part)>;
/// Runs the parts on new threads, except that the calling thread runs part(0).
void on_new_threads(int count, const std::function<void(int)>& part);

/// The number of threads that share some work, and where they come from.
struct Threads {
  int count = 1;
  SideBySide side_by_side = on_new_threads;

  /// Calls work(index) for every index of [0, of). Each thread takes the next index when it is
  /// free.
  template <class Work>
  void deal(std::int64_t of, const Work& work) const {
    std::atomic<std::int64_t> next{0};
    const auto serve = [&](int) {
      for (std::int64_t index; (index = next.fetch_add(1)) < of;) work(index);
    };
    count > 1 && of > 1 ? side_by_side(count, serve) : serve(0);
  }
};

/// A number of parts, and the size of all but the last of them.
struct Parts {
  std::int64_t count, size;
};
/// Cuts `count` rows into parts of one size, so that every member of a team gets about the same
/// number of parts. The size is a multiple of 32, and exceeds `most` only by rounding.
constexpr Parts even_parts(std::int64_t count, std::int64_t most, int members) {
  constexpr std::int64_t unit = 32;
  const std::int64_t least = (count + std::max(most, unit) - 1) / std::max(most, unit),
                     wanted = (least + members - 1) / members * members;
  const std::int64_t size = std::max(
      ((count + wanted - 1) / std::max<std::int64_t>(wanted, 1) + unit - 1) / unit * unit, unit);
  return {(count + size - 1) / size, size};
}

/// Threads under one leader. The leader passes work to run(), every member does its part, and run()
/// returns when all have finished. A member that waits for work spins for about a tenth of a
/// millisecond, because an operation often takes no longer, and then sleeps.
class Team {
 public:
  explicit Team(int size = 1) : size_(size) { expect(size > 0, "a team has a leader"); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Takes the members from `side_by_side`, runs body() on the first one, the leader, and returns
  /// when body() returns. A team of several members can work only within lead().
  void lead(const SideBySide& side_by_side, const std::function<void()>& body);

  int size() const { return size_; }

  /// Calls work(member) on every member. Rethrows an exception of any of them.
  template <class Work>
  void run(const Work& work) {
    if (size_ == 1) return work(0);
    expect(leading_, "a team of several works while it is led");
    call_ = [](const void* of, int member) { (*static_cast<const Work*>(of))(member); };
    work_ = &work;
    together();
  }

  /// Calls work(member, first, last) for even parts of [0, count). Parts are cut at multiples of
  /// `unit` and are not much smaller than `least`.
  template <class Work>
  void share(std::int64_t count, std::int64_t least, std::int64_t unit, const Work& work) {
    const std::int64_t parts =
        std::min<std::int64_t>(size_, count / std::max<std::int64_t>(least, 1));
    if (parts <= 1) return work(0, 0, count);
    const auto cut = [&](std::int64_t part) {
      return part == parts ? count : count * part / parts / unit * unit;
    };
    run([&](int member) {
      if (member < parts && cut(member) < cut(member + 1))
        work(member, cut(member), cut(member + 1));
    });
  }

  /// Calls work(member, index) for every index of [0, count). Each member takes the next index when
  /// it is free.
  template <class Work>
  void deal(std::int64_t count, const Work& work) {
    if (count <= 1 || size_ == 1) {
      for (std::int64_t index = 0; index < count; ++index) work(0, index);
      return;
    }
    std::atomic<std::int64_t> next{0};
    run([&](int member) {
      for (std::int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        work(member, index);
    });
  }

 private:
  void serve(int member, std::uint32_t seen);
  void together();
  void attempt(int member);

  int size_;
  void (*call_)(const void*, int) = nullptr;
  const void* work_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> round_{0};    ///< calls of run() so far
  alignas(64) std::atomic<std::uint32_t> pending_{0};  ///< members still working
  bool dismissed_ = false, leading_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace rollcall::model
