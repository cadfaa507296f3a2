// Logs what the program is doing if that takes longer than a few seconds.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace rollcall {

/// While it exists, a thread logs "`what`: 3 s so far", again after twice as long, and at least
/// once a minute. If it has logged anything, it logs the end too. Only the first of a launcher's
/// ranks logs. A child process that is forked meanwhile must not log.
class LongPhase {
 public:
  /// Text after the time, for example "1200 rollouts". The thread calls it.
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
