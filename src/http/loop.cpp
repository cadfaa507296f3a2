// An io_context with one thread, and a queue that wakes it once for many posts.
#include "http/loop.hpp"

#include "base/errors/error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <pthread.h>
#include <csignal>
#include <ctime>
#include <utility>

namespace rollcall::http {
namespace {

/// A thread in which all signals are blocked, so that they reach threads that wait for them.
std::thread without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Loop::Loop(std::function<void(std::exception_ptr)> failed)
    : failed_(std::move(failed)),
      guard_(asio::make_work_guard(context_)),
      thread_(without_signals([this] { context_.run(); })) {}

Loop::~Loop() {
  if (thread_.joinable()) end([] {});
}

void Loop::post(Work work) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    is_first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (is_first) asio::post(context_, [this] { drain(); });
}

void Loop::spawn(asio::awaitable<void> coroutine) {
  asio::co_spawn(context_, std::move(coroutine), [this](std::exception_ptr thrown) {
    if (thrown) failed_(thrown);
  });
}

bool Loop::attempt(const Work& work) {
  try {
    work();
    return true;
  } catch (...) {
    failed_(std::current_exception());
    return false;
  }
}

void Loop::end(Work last) {
  expect(thread_.get_id() != std::this_thread::get_id(), "a loop is ended by another thread");
  post(std::move(last));
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  guard_.reset();
  thread_.join();
}

double Loop::processor_s() const {
  clockid_t clock{};
  timespec time{};
  // the handle is not const for the library, which changes nothing
  const pthread_t thread = const_cast<std::thread&>(thread_).native_handle();
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0.0;
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void Loop::drain() {
  std::vector<Work> works;
  {
    const std::lock_guard lock(mutex_);
    works.swap(posted_);
  }
  for (const Work& work : works) attempt(work);
}

}  // namespace rollcall::http
