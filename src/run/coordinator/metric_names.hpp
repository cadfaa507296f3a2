// The metrics that the training steps of a run can measure. A metric that a run file names is
// looked up among them before the first step.
#pragma once

#include "core/run_config.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// `components`: those of the run's verdicts, with the judge's. It is empty where they are not
/// known before the first step, because an archive determines them.
struct MetricNames {
  MetricNames(const RunConfig& config, const std::vector<std::string>& components);
  bool knows(const std::string& name) const;
  std::vector<std::string> names{};     ///< whole names
  std::vector<std::string> families{};  ///< beginnings of names that go on with a level, a bin, a
                                        ///< clock, or a component that is not known yet
};

/// Throws ConfigError when checkpoint.keep_best names a metric that no training step and no
/// validation measures; the message has the nearest name.
void check_keep_best(const RunConfig& config, const std::vector<std::string>& components);

}  // namespace rollcall::run
