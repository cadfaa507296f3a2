// Which figures the training steps of a run can measure: a metric that a run file names is looked
// up before the first step.
#pragma once

#include "core/run_config.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// `components`: of the run's verdicts, the judge's included; empty: not known before the first
/// step (an archive says which).
struct MetricNames {
  MetricNames(const RunConfig& config, const std::vector<std::string>& components);
  bool knows(const std::string& name) const;
  std::vector<std::string> names{};     ///< each by itself
  std::vector<std::string> families{};  ///< what names begin with that have a part of their own: a
                                        ///< level, a bin, a clock, a component that is not known
                                        ///< yet
};

/// Throws ConfigError when checkpoint.keep_best names what no training step and no validation
/// measures, with the nearest name.
void check_keep_best(const RunConfig& config, const std::vector<std::string>& components);

}  // namespace rollcall::run
