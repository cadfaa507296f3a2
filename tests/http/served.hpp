// A server whose handlers repeat what is asked, or keep it until the test answers.
#pragma once

#include "http/client.hpp"
#include "http/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::http {

using namespace std::chrono_literals;

inline const std::string kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
inline constexpr double kSoonS = 10.0;  // on a busy machine, with sanitizers

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline std::string post(const std::string& body, const std::string& fields = {}) {
  return "POST /x HTTP/1.1\r\nHost: a\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Waits until `done`, for a time that is long on any machine.
template <class Done>
bool comes_true(const Done& done) {
  for (const auto begin = std::chrono::steady_clock::now(); seconds_since(begin) < 20;) {
    if (done()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

inline std::size_t open_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.path().empty() ? 0 : 1;
  return count;
}

class ServerTest : public testing::Test {
 protected:
  /// What is asked is repeated: method, target and body.
  static void repeat(const std::shared_ptr<Exchange>& exchange) {
    exchange->answer(
        {.type = "text/plain",
         .body = exchange->head().method + " " + exchange->head().target + " " + exchange->body()});
  }
  /// Keeps what is asked until the test answers it.
  Service keeps(const Limits& limits) {
    return {.limits = limits, .handler = [this](std::shared_ptr<Exchange> exchange) {
              const std::lock_guard lock(mutex_);
              kept_.push_back(std::move(exchange));
            }};
  }
  std::shared_ptr<Exchange> kept(std::size_t index) {
    EXPECT_TRUE(comes_true([&] {
      const std::lock_guard lock(mutex_);
      return kept_.size() > index;
    }));
    const std::lock_guard lock(mutex_);
    return kept_.at(index);
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }
  std::size_t kept_count() {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }
  int serve(const Limits& limits, std::function<void(std::shared_ptr<Exchange>)> handler = repeat) {
    return server_->listen("127.0.0.1", 0, {.limits = limits, .handler = std::move(handler)}).port;
  }

  std::mutex mutex_;  // guards the two lists
  std::vector<std::shared_ptr<Exchange>> kept_;
  std::vector<std::string> failures_;
  std::unique_ptr<Server> server_ = std::make_unique<Server>([this](std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      failures_.push_back(error.what());
    }
  });
};

}  // namespace rollcall::http
