// The thread waits for the end of the phase, first for three seconds.
#include "base/errors/long_phase.hpp"

#include "base/errors/log.hpp"
#include "base/process/launcher_rank.hpp"
#include "base/time/clock.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace rollcall {
namespace {

constexpr double kFirst_s = 3.0, kLongest_s = 60.0;

}  // namespace

LongPhase::LongPhase(std::string what, Detail detail)
    : what_(std::move(what)), detail_(std::move(detail)) {
  if (!is_first_rank()) return;
  try {
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  } catch (const std::system_error&) {  // the system has no more threads, so nothing is logged
  }
}

LongPhase::~LongPhase() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
}

void LongPhase::watch(const std::stop_token& stop) {
  const Stopwatch clock;
  bool logged = false;
  std::unique_lock lock(mutex_);
  for (double pause_s = kFirst_s;; pause_s = std::min(2.0 * pause_s, kLongest_s)) {
    ended_.wait_for(lock, stop, std::chrono::duration<double>(pause_s), [] { return false; });
    if (stop.stop_requested()) break;
    const std::string detail = detail_ ? detail_() : std::string();
    log_info("{}: {:.0f} s so far{}{}", what_, clock.seconds(), detail.empty() ? "" : ", ", detail);
    logged = true;
  }
  if (logged) log_info("{}: done after {:.1f} s", what_, clock.seconds());
}

}  // namespace rollcall
