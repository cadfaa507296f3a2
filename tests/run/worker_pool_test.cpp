// Threads of a rank: every index once, the lowest failure reported, the pool usable afterwards.
#include "run/workers/worker_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::run {
namespace {

void expect_each_once(WorkerPool& pool, std::int64_t count) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
  std::atomic<bool> known_threads = true;
  pool.run(count, [&](std::int64_t index, int thread) {
    ++calls[std::size_t(index)];
    if (thread < 0 || thread >= pool.threads()) known_threads = false;
  });
  EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }))
      << count << " indices on " << pool.threads() << " threads";
  EXPECT_TRUE(known_threads);
}

TEST(WorkerPool, CallsEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {1, 2, 7, 1000}) expect_each_once(pool, count);
    // rounds so short that workers meet the next one late
    for (int round = 0; round < 300; ++round) expect_each_once(pool, 3);
  }
}

TEST(WorkerPool, RunsNoMoreAtATimeThanAsked) {
  WorkerPool pool(5);
  for (const int together : {1, 2, 5, 9}) {
    std::atomic<int> running = 0, most = 0, calls = 0;
    pool.run(
        200,
        [&](std::int64_t, int) {
          const int now = ++running;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
          ++calls;
          std::this_thread::yield();
          --running;
        },
        together);
    EXPECT_LE(most, together);
    EXPECT_EQ(calls, 200);
  }
  expect_each_once(pool, 50);  // the bound is that of one call
}

TEST(WorkerPool, HasNothingToDoForZeroIndices) {
  WorkerPool pool(3);
  pool.run(0, [](std::int64_t, int) { FAIL() << "there is no index"; });
  expect_each_once(pool, 4);
}

TEST(WorkerPool, RethrowsTheLowestFailureAndServesOn) {
  for (const int threads : {1, 4}) {
    WorkerPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> calls = 0;
      std::string message;
      try {
        pool.run(64, [&](std::int64_t index, int) {
          ++calls;
          if (index % 10 == 7) throw std::runtime_error("index " + std::to_string(index));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      EXPECT_EQ(message, "index 7");
      EXPECT_EQ(calls, 64)
          << "a failure must not leave later indices undone on one run and done on the next";
      expect_each_once(pool, 9);
    }
  }
}

TEST(WorkerPool, GivesEveryThreadItsOwnNumber) {
  WorkerPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> shared = false;
  pool.run(2000, [&](std::int64_t, int thread) {
    // two at once under one number would share buffers
    if (++inside[std::size_t(thread)] > 1) shared = true;
    --inside[std::size_t(thread)];
  });
  EXPECT_FALSE(shared);
}

}  // namespace
}  // namespace rollcall::run
