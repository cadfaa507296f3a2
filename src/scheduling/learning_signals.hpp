// The quantities that a scheduler's pieces learn from a step's reports: the signal of the prompt
// game, the signal of the rollout game, and the control, which replaces the results on purpose.
#pragma once

#include "base/numbers/random.hpp"
#include "base/text/config.hpp"
#include "scheduling/arm_signal.hpp"
#include "scheduling/prompts/bin_results.hpp"
#include "scheduling/trace/control.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// A scheduler has one signal for all its prompt games and one for all its rollout games. Pieces
/// declare what they learn from when they are constructed. Only signals that some piece uses have
/// knobs.
class LearningSignals {
 public:
  void use_signal() { uses_signal_ = true; }
  /// With must_rank, check() refuses a signal that cannot rank counts of rollouts. Otherwise only
  /// warnings() mentions it.
  void use_arm_signal(bool must_rank) {
    uses_arm_signal_ = true;
    must_rank_ = must_rank_ || must_rank;
  }
  /// A piece learns from mean absolute advantages.
  void use_pay() { uses_pay_ = true; }
  /// A piece learns from something else in the reports. A scheduler that learns has the knob
  /// `control`.
  void use_outcomes() { uses_outcomes_ = true; }
  /// A piece asks which groups teach.
  void use_teaching() { uses_teaching_ = true; }
  bool signal_used() const { return uses_signal_; }
  bool arm_signal_used() const { return uses_arm_signal_; }

  /// learns_prompts: the scheduler keeps results of prompts, so it has the knob `control` in any
  /// case.
  void bind(ConfigSchema& schema, bool learns_prompts);
  /// Checks the knobs, after they are set. Throws ConfigError if a piece must rank counts and its
  /// signal cannot, and for an inverted control if nothing has a sign.
  void check() const;
  std::vector<std::string> warnings() const;

  /// Returns what the pieces learn from: these reports themselves, unless `control` replaces them.
  /// `random` draws the order of shuffled results. Valid until the next call.
  const std::vector<GroupReport>& learned(const std::vector<GroupReport>& reports,
                                          const RandomStream& random);
  /// Whether the group has results and the loss learns from it: its rewards differ or, with
  /// left_out = solved, not all of its rollouts are right.
  bool teaches(const GroupReport& report) const;
  const Control& control() const { return control_; }
  const Signal& signal() const { return signal_; }
  const ArmSignal& arm_signal() const { return arm_signal_; }
  /// The value of the first n rollouts of a learned report to the rollout game.
  double gain(const GroupReport& learned, std::size_t n) const {
    return control_.sign() * arm_signal_.gain(learned, n);
  }

 private:
  bool uses_signal_ = false, uses_arm_signal_ = false, must_rank_ = false, uses_pay_ = false,
       uses_outcomes_ = false, uses_teaching_ = false;
  std::string left_out_ = "equal";
  Signal signal_;
  ArmSignal arm_signal_;
  Control control_;
  std::vector<GroupReport> learned_;
};

}  // namespace rollcall::scheduling
