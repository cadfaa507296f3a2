// Threads inside one operation: what is done to many outputs at once is shared out among them, and
// no sum is.
#pragma once

#include "base/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace rollcall::model {

/// Runs part(0) .. part(count - 1) side by side, each on a thread of its own, and returns when all
/// have. Rethrows what one threw.
using SideBySide = std::function<void(int count, const std::function<void(int)>& part)>;
/// With threads made for it; this one is the first.
void on_new_threads(int count, const std::function<void(int)>& part);

/// How many threads share some work, and where they come from.
struct Threads {
  int count = 1;
  SideBySide side_by_side = on_new_threads;

  /// work(index) for every index of [0, of), whoever is free taking the next.
  template <class Work>
  void deal(std::int64_t of, const Work& work) const {
    std::atomic<std::int64_t> next{0};
    const auto serve = [&](int) {
      for (std::int64_t index; (index = next.fetch_add(1)) < of;) work(index);
    };
    count > 1 && of > 1 ? side_by_side(count, serve) : serve(0);
  }
};

/// `count` rows cut into parts of one size, a multiple of 32 and little more than `most` allows, so
/// that members get as much as one another.
struct Parts {
  std::int64_t count, size;
};
constexpr Parts even_parts(std::int64_t count, std::int64_t most, int members) {
  constexpr std::int64_t unit = 32;
  const std::int64_t least = (count + std::max(most, unit) - 1) / std::max(most, unit),
                     wanted = (least + members - 1) / members * members;
  const std::int64_t size = std::max(
      ((count + wanted - 1) / std::max<std::int64_t>(wanted, 1) + unit - 1) / unit * unit, unit);
  return {(count + size - 1) / size, size};
}

/// One thread leads: of the work it hands to run() every member does its part, and run() returns
/// when all have. Members wait for work spinning for some microseconds, since an operation often
/// takes no longer, then asleep. Its size changes no bits.
class Team {
 public:
  explicit Team(int size = 1) : size_(size) { expect(size > 0, "a team has a leader"); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Gathers members from `side_by_side`, runs body() on the first, which leads, and returns when
  /// that has. Without it the leader is alone, and a team of more must not be given work.
  void lead(const SideBySide& side_by_side, const std::function<void()>& body);

  int size() const { return size_; }

  /// work(member) on every member. Rethrows what one threw.
  template <class Work>
  void run(const Work& work) {
    if (size_ == 1) return work(0);
    expect(leading_, "a team of several works while it is led");
    call_ = [](const void* of, int member) { (*static_cast<const Work*>(of))(member); };
    work_ = &work;
    together();
  }

  /// work(member, first, last) over [0, count) in even parts, none of them much smaller than
  /// `least`, cut at multiples of `unit`.
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

  /// work(member, index) for every index of [0, count), whoever is free taking the next.
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
  alignas(64) std::atomic<std::uint32_t> round_{0};    ///< counts works handed out
  alignas(64) std::atomic<std::uint32_t> pending_{0};  ///< members that have not done theirs
  bool dismissed_ = false, leading_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace rollcall::model
