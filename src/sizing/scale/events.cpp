// The event queue, and processor sharing with one progress value common to all jobs.
#include "sizing/scale/events.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::sizing::scale {

void Events::later(double seconds, Then then) {
  events_.push({now_ + seconds, order_++, std::move(then)});
}

void Events::run() {
  while (!events_.empty()) {
    Event event = std::move(
        const_cast<Event&>(events_.top()));  // NOLINT: top() is const, and the event goes at once
    events_.pop();
    now_ = event.time;
    event.then();
  }
}

double Cores::speed() const {
  if (jobs_.empty()) return 1.0;
  const double jobs = double(jobs_.size()), busy = std::min(jobs, capacity_);
  // 0 if the job is alone, 1 if all cores are busy
  const double crowded = capacity_ > 1.0 ? std::max(0.0, busy - 1.0) / (capacity_ - 1.0) : 0.0;
  return std::min(1.0, capacity_ / jobs) / (1.0 + crowding_ * crowded);
}

void Cores::advance() {
  progress_ += (events_->now() - advanced_) * speed();
  advanced_ = events_->now();
}

void Cores::compute(double seconds, Events::Then then) {
  if (seconds <= 0.0) return events_->later(0.0, std::move(then));
  advance();
  jobs_.push({progress_ + seconds, order_++, std::move(then)});
  expect_next();
}

void Cores::expect_next() {
  if (jobs_.empty()) return;
  const double left = std::max(0.0, jobs_.top().end - progress_);
  events_->later(left / speed(), [this, forecast = ++forecast_] { finish(forecast); });
}

void Cores::finish(std::uint64_t forecast) {
  if (forecast != forecast_) return;
  advance();
  progress_ = std::max(progress_, jobs_.top().end);    // so that rounding leaves no remainder
  Job job = std::move(const_cast<Job&>(jobs_.top()));  // NOLINT
  jobs_.pop();
  expect_next();
  job.then();
}

}  // namespace rollcall::sizing::scale
