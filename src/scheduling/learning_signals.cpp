// The signals' knobs, checks between them, and the control that is applied to the reports.
#include "scheduling/learning_signals.hpp"

#include "base/errors/error.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

namespace rollcall::scheduling {

void LearningSignals::bind(ConfigSchema& schema, bool learns_prompts) {
  if (uses_signal_) signal_.bind(schema);
  if (uses_arm_signal_) arm_signal_.bind(schema);
  if (uses_teaching_)
    schema.bind(
        "left_out", &left_out_,
        "groups of equal rewards that neither train nor fill a step: equal = all of them, solved = those whose rollouts are all right",
        {}, {"equal", "solved"});
  if (learns_prompts || uses_pay_ || uses_outcomes_) control_.bind(schema);
}

void LearningSignals::check() const {
  require<ConfigError>(!uses_arm_signal_ || !must_rank_ || arm_signal_.ranks_arms(),
                       fmt::format("scheduler.knobs.arm_signal = {}", arm_signal_.name()),
                       "its mean is the same for any number of rollouts, so it cannot rank counts",
                       "choose informative, variance_proxy or solved");
  require<ConfigError>(!control_.inverted() || uses_signal_ || uses_arm_signal_ || uses_pay_,
                       "scheduler.knobs.control = inverted",
                       "nothing that this policy learns from has a sign",
                       "choose constant or shuffled");
}

std::vector<std::string> LearningSignals::warnings() const {
  if (!uses_arm_signal_ || arm_signal_.ranks_arms()) return {};
  return {fmt::format(
      "arm_signal {} has the same mean for any number of rollouts: these bandits cannot hear which count is better",
      arm_signal_.name())};
}

bool LearningSignals::teaches(const GroupReport& report) const {
  if (informative(report)) return true;
  return left_out_ == "solved" && !report.correct.empty() && success(report) < 1.0;
}

const std::vector<GroupReport>& LearningSignals::learned(const std::vector<GroupReport>& reports,
                                                         const RandomStream& random) {
  if (!control_.on() || reports.empty()) return reports;
  learned_ = control_.heard(reports, random);
  return learned_;
}

}  // namespace rollcall::scheduling
