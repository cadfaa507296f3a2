// Looks at signals, at the stop file and at the clock.
#include "run/workers/stop_request.hpp"

#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "watch/watcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <system_error>

namespace rollcall::run {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// SLURM_JOB_END_TIME as Unix time, unless it is in the past: a shell left over from an old
/// allocation still has the variable.
std::optional<double> end_of_allocation() {
  const char* const text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view all(text);
  std::int64_t end = 0;
  const auto [rest, error] = std::from_chars(all.data(), all.data() + all.size(), end);
  const bool number = error == std::errc() && rest == all.data() + all.size();
  if (number && double(end) > unix_time()) return double(end);
  log_warning(
      "SLURM_JOB_END_TIME is \"{}\", which is {}: it is ignored. Unset it, or set run.wall_time_s if this run must end by itself",
      visible(brief(all)), number ? "past" : "no Unix time");
  return std::nullopt;
}

/// The value of an environment variable if it has only digits, else an empty text.
std::string number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string digits(text == nullptr ? "" : text);
  return digits.find_first_not_of("0123456789") == std::string::npos ? digits : std::string();
}

/// The output of scontrol about this job; empty if scontrol does not answer in time. An element of
/// a job array is asked for by its own number, because the job id of one of them means the whole
/// array.
std::string shown_job() {
  const std::string array = number_in("SLURM_ARRAY_JOB_ID"),
                    task = number_in("SLURM_ARRAY_TASK_ID"), context = number_in("SLURM_JOB_ID");
  const std::string asked = array.empty() || task.empty() ? context : array + "_" + task;
  if (asked.empty()) return {};
  const std::string command = fmt::format(
      "SLURM_TIME_FORMAT=%s timeout 30 scontrol --oneliner show job {} 2>/dev/null", asked);
  std::string said;
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return {};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += char(c);
  return ::pclose(pipe) == 0 ? said : std::string();
}

}  // namespace

std::optional<double> end_time_of(std::string_view context) {
  constexpr std::string_view kKey = " EndTime=";
  const auto at = context.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = context.substr(at + kKey.size()),
                         text = rest.substr(0, rest.find_first_of(" \n"));
  std::int64_t end = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), end);
  return error == std::errc() && last == text.data() + text.size() && end > 0
             ? std::optional(double(end))
             : std::nullopt;
}

StopRequest::StopRequest(std::filesystem::path run_dir, double wall_time_s)
    : run_dir_(std::move(run_dir)) {
  if (wall_time_s > 0) end_s_ = unix_time() + wall_time_s;
  else end_s_ = end_of_allocation(), slurms_ = true, stood_still_s_ = watch::stood_still_s();
}

void StopRequest::step_took(double seconds) {
  longest_step_s_ = std::max(longest_step_s_, seconds);
  longest_of_phase_s_ = std::max(longest_of_phase_s_, seconds);
}

std::optional<double> StopRequest::left_s() {
  if (!end_s_) return std::nullopt;
  if (slurms_ && watch::stood_still_s() > stood_still_s_) ask_slurm();
  return *end_s_ - unix_time();
}

/// The time that this process measured itself does not change the end, because it may be wrong, and
/// then the job would be killed. Without an answer from Slurm the end stays the same, and at worst
/// the run stops too early.
void StopRequest::ask_slurm() {
  stood_still_s_ = watch::stood_still_s();
  const auto end_s = end_time_of(shown_job());
  if (end_s)
    log_info("after a suspension Slurm says that the allocation ends in {:.0f} s",
             *end_s - unix_time());
  else
    log_warning(
        "after a suspension scontrol does not say when the allocation ends: the run keeps to the end that it knew");
  if (end_s) end_s_ = *end_s;
}

// The run leaves room for 1.5 steps, because steps become longer with longer responses, and for two
// checkpoints, because the file system may be busy when many jobs end at once.
double StopRequest::margin_s() const {
  return 1.5 * longest_step_s_ + 2.0 * longest_checkpoint_s_ + 1.0;
}

StepTimes StopRequest::times(double since_s) {
  StepTimes times;
  if (longest_of_phase_s_ > 0.0) times.expected_s = longest_of_phase_s_ - since_s;
  if (const auto left = left_s()) times.latest_s = *left - 2.0 * longest_checkpoint_s_;
  return times;
}

bool StopRequest::is_checkpoint_due(double since_s) const {
  constexpr double kLost_s = 600.0, kCheckpoints = 20.0;
  return since_s > std::max(kLost_s, kCheckpoints * longest_checkpoint_s_);
}

void StopRequest::checkpoint_took(double seconds) {
  longest_checkpoint_s_ = std::max(longest_checkpoint_s_, seconds);
}

std::optional<std::string> StopRequest::reason(double more_s) {
  if (given_) return given_;
  if (!signal_.empty()) return given_ = signal_;
  if (auto signal = stop_signal()) return given_ = signal;
  std::error_code ignored;
  if (std::filesystem::exists(run_dir_ / "stop", ignored)) return given_ = "the stop file";
  const auto left = left_s();
  if (!left || *left > margin_s() + more_s) return std::nullopt;
  out_of_time_ = true;
  return given_ = fmt::format(
             "the wall-time limit: {:.1f} s are left, a step takes up to {:.1f} s and a checkpoint up to {:.1f} s",
             *left, longest_step_s_, longest_checkpoint_s_);
}

std::string StopRequest::reason_of_cut() {
  if (!reason()) remember_signal("a signal on another rank");
  return *reason();
}

}  // namespace rollcall::run
