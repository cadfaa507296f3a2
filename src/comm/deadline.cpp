// A deadline by two clocks: one leaves out the suspensions of this rank, the other does not. Other
// ranks are asked about theirs only when the time is up.
#include "comm/deadline.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::comm {
namespace {

constexpr double kShortestLate_s = 1.0, kLongestLate_s = 10.0;

Standstills& known_standstills() {
  thread_local Standstills known;  // per thread, because ranks may be threads of one process
  return known;
}

}  // namespace

void ask_about_standstills(Standstills known) { known_standstills() = std::move(known); }

Deadline::Deadline(double seconds)
    : seconds_(seconds), clock_(std::clamp(seconds / 2, kShortestLate_s, kLongestLate_s)) {}

double Deadline::spent() { return (clock_.seconds() - renewed_s_) / (seconds_ + excused_s_); }

bool Deadline::is_over() {
  if (spent() < 1.0) return false;
  if (known_standstills()) {
    const double others_s = known_standstills()(since_.seconds());
    // clock_ already leaves out the suspensions of this rank.
    excused_s_ = std::max(excused_s_, others_s - (clock_.stood_still_s() - still_before_s_));
  }
  return spent() >= 1.0;
}

void Deadline::renew() {
  renewed_s_ = clock_.seconds(), still_before_s_ = clock_.stood_still_s(), excused_s_ = 0.0;
  since_.restart();
}

}  // namespace rollcall::comm
