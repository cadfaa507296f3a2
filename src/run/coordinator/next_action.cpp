// The order of the actions of a run, with one case for each action that may have been the last.
#include "run/coordinator/next_action.hpp"

namespace rollcall::run {
namespace {

bool is_multiple(std::int64_t steps, std::int64_t every) { return every > 0 && steps % every == 0; }

Action train_or_end(const Situation& now, const RunConfig& config) {
  if (now.progress < 1.0) return Action::train_step;
  return config.eval.after && !now.has_after ? Action::evaluate_after : Action::finish;
}

Action save_or_go_on(bool saves, const Situation& now, const RunConfig& config) {
  return saves ? Action::save_train_step : train_or_end(now, config);
}

}  // namespace

bool is_checkpoint_due(const Situation& now, const RunConfig& config) {
  return now.progress >= 1.0 || is_multiple(now.train_steps, config.checkpoint.every) ||
         is_multiple(now.train_steps, config.checkpoint.keep_every);
}

Action next_action(const Situation& now, const RunConfig& config) {
  const bool is_warm = now.sft_steps >= config.sft.steps;
  if (!now.last) return is_warm || now.train_steps > 0 ? Action::begin_training : Action::warm_step;
  switch (*now.last) {
    case Action::warm_step:
      if (is_warm || is_multiple(now.sft_steps, config.checkpoint.every))
        return Action::save_warm_step;
      return Action::warm_step;
    case Action::save_warm_step: return is_warm ? Action::end_warm_start : Action::warm_step;
    case Action::end_warm_start: return Action::begin_training;
    case Action::begin_training:
      if (config.eval.before && config.train.steps > 0 && now.train_steps == 0 && !now.has_before)
        return Action::evaluate_before;
      return train_or_end(now, config);
    case Action::evaluate_before: return train_or_end(now, config);
    case Action::train_step:
      if (is_multiple(now.train_steps, config.eval.every)) return Action::validate;
      return save_or_go_on(is_checkpoint_due(now, config), now, config);
    case Action::validate:
      return save_or_go_on(now.is_best || is_checkpoint_due(now, config), now, config);
    case Action::save_train_step: return train_or_end(now, config);
    case Action::evaluate_after: return Action::save_end;
    case Action::save_end:
    case Action::finish: return Action::finish;
  }
  return Action::finish;
}

bool belongs_to_step(Action action) {
  return action == Action::save_warm_step || action == Action::validate ||
         action == Action::save_train_step;
}

bool is_stop_point(const Situation& now, Action next) {
  return !now.last || next == Action::warm_step || next == Action::train_step;
}

}  // namespace rollcall::run
