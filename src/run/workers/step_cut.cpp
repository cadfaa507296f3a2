// Compares the expected end of a step with the time that the signals leave.
#include "run/workers/step_cut.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rollcall::run {

bool is_cut(const SignalTimes& came, double expected_s, double latest_s, double now_s) {
  const double until =
      std::min(came.last_call_s + kFinishing_s, std::max(came.notice_s + kFinishing_s, latest_s));
  return std::max(expected_s, now_s) > until;
}

void StepCut::begin(const StepTimes& times) {
  const double now_s = signal_clock_s();
  expected_s_ = now_s + times.expected_s, latest_s_ = now_s + times.latest_s;
  wanted_ = false;
}

bool StepCut::wanted() {
  if (!wanted_ && stop_signal() && is_cut(signal_times(), expected_s_, latest_s_, signal_clock_s()))
    wanted_ = true;
  return wanted_;
}

void StepCut::agree(Collectives& ranks) {
  std::array<std::int64_t, 1> wanting{wanted() ? 1 : 0};
  if (ranks.size() > 1) ranks.sum(wanting);
  if (wanting.front() > 0) throw StepIsCut{};
}

}  // namespace rollcall::run
