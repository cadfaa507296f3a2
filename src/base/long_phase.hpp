// A sign of life: what goes on, in the log, where it takes longer than some seconds.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace rollcall {

/// While it lives, a thread logs "`what`: 3 s so far", then again after twice as long, and at least
/// once a minute; once it has spoken, the end is logged too. Of a launcher's ranks only the first
/// speaks. A child that is forked meanwhile must not log.
class LongPhase {
 public:
  /// Behind the time, for example "1200 rollouts". Called by the thread.
  using Detail = std::function<std::string()>;
  explicit LongPhase(std::string what, Detail detail = {});
  ~LongPhase();
  LongPhase(const LongPhase&) = delete;
  LongPhase& operator=(const LongPhase&) = delete;

 private:
  void watch(const std::stop_token& stop);

  std::string what_;
  Detail detail_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread watcher_;
};

}  // namespace rollcall
