// Other threads' stacks: one that computes, one held in a call of the kernel, one that rests, one
// that has gone.
#include "base/process/thread_stack.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace rollcall {
namespace {

__attribute__((noinline)) void computes_until(const std::atomic<bool>& end) {
  while (!end) {
  }
}

__attribute__((noinline)) ssize_t reads_from(int pipe) {
  char byte = 0;
  const ssize_t got = ::read(pipe, &byte, 1);
  return got + (byte - byte);  // not a tail call: its frame stays
}

std::string joined(const ThreadView& view) {
  std::string text = view.state + ":";
  for (const auto& frame : view.frames) text += " " + frame;
  return text;
}

/// A thread with its number.
template <class Body>
std::jthread start(std::atomic<int>& number, Body body) {
  std::jthread thread([&number, body] {
    number = own_thread();
    body();
  });
  while (number == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until it is where it stays
  return thread;
}

bool is_busy(int thread) {
  const auto busy = busy_threads();
  return std::find(busy.begin(), busy.end(), thread) != busy.end();
}

TEST(ThreadStack, OfAThreadThatComputes) {
  prepare_to_look();
  std::atomic<bool> end = false;
  std::atomic<int> number = 0;
  const auto thread = start(number, [&] { computes_until(end); });
  EXPECT_TRUE(is_busy(number));
  for (int i = 0; i < 20; ++i) {
    const auto view = look_at_thread(number, 25);
    EXPECT_EQ(view.state, "running");
    EXPECT_NE(joined(view).find("rollcall::computes_until()"), std::string::npos) << joined(view);
  }
  end = true;
}

TEST(ThreadStack, ACallOfTheKernelIsNamedAndGoesOn) {
  prepare_to_look();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::atomic<int> number = 0;
  std::atomic<ssize_t> got = -2;
  {
    const auto thread = start(number, [&] { got = reads_from(pipe[0]); });
    EXPECT_TRUE(is_busy(number));
    const auto view = look_at_thread(number, 25);
    EXPECT_EQ(view.state, "in read");
    EXPECT_NE(joined(view).find("rollcall::reads_from()"), std::string::npos) << joined(view);
    EXPECT_EQ(look_at_thread(number, 1).frames.size(), 1U);
    EXPECT_EQ(got, -2) << "the call did not go on";
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  }
  EXPECT_EQ(got, 1);
  ::close(pipe[0]), ::close(pipe[1]);
}

TEST(ThreadStack, WhoRestsIsNotBusy) {
  prepare_to_look();
  std::mutex mutex;
  std::condition_variable_any changed;
  std::atomic<int> number = 0;
  {
    const auto thread = start(number, [&] {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::seconds(1));
    });
    EXPECT_FALSE(is_busy(number));
    changed.notify_all();
  }
  // Who is joined has still some way to go in the kernel.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (look_at_thread(number, 25).state != "gone" && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(look_at_thread(number, 25).state, "gone");
}

}  // namespace
}  // namespace rollcall
