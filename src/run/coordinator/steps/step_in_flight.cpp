// Keeps the counts before the step and measures its time.
#include "run/coordinator/steps/step_in_flight.hpp"

namespace rollcall::run {

void StepInFlight::begin(const CoordinatorState& state) {
  before_ = {state.sft_steps, state.train_steps, state.rollouts_total, state.metric_rows, {}};
  is_open_ = true;
}

void StepInFlight::end() {
  if (!is_open_) return;
  stop_->step_took(seconds());
  is_open_ = false;
  has_ended_ = true;
}

void StepInFlight::take_back(CoordinatorState& state) const {
  state.sft_steps = before_.sft_steps;
  state.train_steps = before_.train_steps;
  state.rollouts_total = before_.rollouts_total;
}

}  // namespace rollcall::run
