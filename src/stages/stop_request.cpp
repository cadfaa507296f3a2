// Signals, the stop file and the clock.
#include "stages/stop_request.hpp"

#include "base/log.hpp"
#include "base/visible.hpp"
#include "stages/watcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace rollcall::stages {
namespace {

volatile std::sig_atomic_t caught = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (caught == SIGINT && number == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  caught = number;
}

double unix_time() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// SLURM_JOB_END_TIME as Unix time, if it can be the end of a job that runs: a shell that is left from an old allocation has one that is past.
std::optional<double> end_of_allocation() {
  const char* const text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view all(text);
  std::int64_t end = 0;
  const auto [rest, error] = std::from_chars(all.data(), all.data() + all.size(), end);
  const bool number = error == std::errc() && rest == all.data() + all.size();
  if (number && double(end) > unix_time()) return double(end);
  spdlog::warn("SLURM_JOB_END_TIME is \"{}\", which is {}: it is ignored. Unset it, or set run.wall_time_s if this run must end by itself", visible(brief(all)),
               number ? "past" : "no Unix time");
  return std::nullopt;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGUSR1, SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction inherited = {};
    sigaction(number, nullptr, &inherited);
    if (number == SIGHUP && inherited.sa_handler == SIG_IGN) continue;  // nohup: the run is to outlive its terminal
    sigaction(number, &action, nullptr);
    sigaddset(&ours, number);
  }
  pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);  // a parent's mask would keep them from ever arriving
}

std::optional<std::string> stop_signal() {
  switch (caught) {
    case 0: return std::nullopt;
    case SIGUSR1: return "SIGUSR1";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    default: return "SIGINT";
  }
}

StopRequest::StopRequest(std::filesystem::path run_dir, double wall_time_s) : run_dir_(std::move(run_dir)) {
  if (wall_time_s > 0) end_s_ = unix_time() + wall_time_s;
  else end_s_ = end_of_allocation(), slurms_ = true;
}

void StopRequest::step_took(double seconds) { longest_step_s_ = std::max(longest_step_s_, seconds); }
std::optional<double> StopRequest::left_s() const {
  if (!end_s_) return std::nullopt;
  return *end_s_ + (slurms_ ? stood_still_s() : 0.0) - unix_time();
}

// 1.5 steps: steps lengthen as responses do; 2 checkpoints: the file system may be busy at the end of everyone's jobs.
double StopRequest::margin_s() const { return 1.5 * longest_step_s_ + 2.0 * longest_checkpoint_s_ + 1.0; }

void StopRequest::checkpoint_took(double seconds) { longest_checkpoint_s_ = std::max(longest_checkpoint_s_, seconds); }

std::optional<std::string> StopRequest::reason(double more_s) {
  if (given_) return given_;
  if (!signal_.empty()) return given_ = signal_;
  if (auto signal = stop_signal()) return given_ = signal;
  std::error_code ignored;
  if (std::filesystem::exists(run_dir_ / "stop", ignored)) return given_ = "the stop file";
  const auto left = left_s();
  if (!left || *left > margin_s() + more_s) return std::nullopt;
  out_of_time_ = true;
  return given_ = fmt::format("the wall-time limit: {:.1f} s are left, a step takes up to {:.1f} s and a checkpoint up to {:.1f} s", *left, longest_step_s_,
                              longest_checkpoint_s_);
}

}  // namespace rollcall::stages
